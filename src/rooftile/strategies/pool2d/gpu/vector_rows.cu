// vector_rows: one thread makes four neighbouring outputs of a row.
//
// Neighbours in `naive` read words a stride apart, so that every load of a warp uses some of the
// bytes that it moves, and the next load the rest.  Here a thread reads what its four
// windows cover as whole vectors of four, each once, and combines them in registers.  What it
// removes: loads, four fifths of them for 2x2 windows, and the divisions of three threads in four.
//
// x[images][CHANNELS][HEIGHT][WIDTH], out[images][CHANNELS][ROWS][COLUMNS]; WIDTH is a multiple of
// four, so that every row begins on 16 bytes.  Parameters: see pool2d.h.
// Grid: x over quads, which are four neighbouring results of a row.

#include "pool2d/gpu/pool2d.h"

#define QUADS ((COLUMNS + 3) / 4)
// Vectors that cover a quad's windows; a quad starts 4 * POOL_STRIDE_X columns after the last.
#define VECTORS ((3 * POOL_STRIDE_X + POOL_WIDTH + 3) / 4)

__global__ void vector_rows(const GLOBAL float* __restrict__ x, WEIGHTS_ARGUMENT BIAS_ARGUMENT
                            GLOBAL float* __restrict__ out, int images)
{
    int64 quad = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (quad >= (int64)images * CHANNELS * ROWS * QUADS) return;

    int column = (int)(quad % QUADS) * 4, left = column * POOL_STRIDE_X;
    int row = (int)(quad / QUADS % ROWS);
    int64 plane = quad / (ROWS * QUADS);
    const GLOBAL float* from = x + ((size_t)plane * HEIGHT + row * POOL_STRIDE_Y) * WIDTH + left;
    float pooled[4];
    UNROLL for (int n = 0; n < 4; n++) pooled[n] = POOL_START;
    for (int a = 0; a < POOL_HEIGHT; a++, from += WIDTH) {
        float values[4 * VECTORS];
        UNROLL for (int v = 0; v < VECTORS; v++) {
            // Vectors beyond the row are for outputs that do not exist.
            float4 four = left + 4 * v < WIDTH ? *(const GLOBAL float4*)(from + 4 * v)
                                               : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            values[4 * v] = four.x;
            values[4 * v + 1] = four.y;
            values[4 * v + 2] = four.z;
            values[4 * v + 3] = four.w;
        }
        UNROLL for (int n = 0; n < 4; n++)
            UNROLL for (int b = 0; b < POOL_WIDTH; b++)
                pooled[n] = POOL_WITH(pooled[n], TERM(values[n * POOL_STRIDE_X + b], a, b));
    }

    GLOBAL float* to = out + (plane * ROWS + row) * COLUMNS + column;
    float shift = SHIFT(plane % CHANNELS);
    UNROLL for (int n = 0; n < 4; n++) pooled[n] = finished(pooled[n], shift);
#if COLUMNS % 4 == 0
    *(GLOBAL float4*)to = make_float4(pooled[0], pooled[1], pooled[2], pooled[3]);
#else
    UNROLL for (int n = 0; n < 4; n++)
        if (column + n < COLUMNS) to[n] = pooled[n];
#endif
}
