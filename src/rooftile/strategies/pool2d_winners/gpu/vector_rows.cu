// vector_rows: one thread finds the winners of four neighbouring windows of a row.
//
// Neighbours in `naive` read words a stride apart, and overlapping windows read words again.  Here a
// thread reads what its four windows cover as whole vectors of four, each once.  What it removes:
// loads, and the divisions of three threads in four.
//
// x[planes][HEIGHT][WIDTH], y[planes][ROWS][COLUMNS], where[planes][ROWS][COLUMNS]; WIDTH is a
// multiple of four, so that every row begins on 16 bytes.
// Grid: x over quads, which are four neighbouring windows of a row.

#include "common/winner.h"

#define QUADS ((COLUMNS + 3) / 4)
// Vectors that cover a quad's windows; a quad starts 4 * STRIDE_X columns after the last.
#define VECTORS ((3 * STRIDE_X + WINDOW_WIDTH + 3) / 4)

__global__ void vector_rows(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ y,
                            GLOBAL int* __restrict__ where, int planes)
{
    int64 quad = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (quad >= (int64)planes * ROWS * QUADS) return;

    int column = (int)(quad % QUADS) * 4, left = column * STRIDE_X;
    int row = (int)(quad / QUADS % ROWS);
    int64 plane = quad / (ROWS * QUADS);
    int first = row * STRIDE_Y * WIDTH + left;
    const GLOBAL float* from = x + (size_t)plane * HEIGHT * WIDTH + first;
    float best[4];
    int place[4];
    for (int a = 0; a < WINDOW_HEIGHT; a++, from += WIDTH) {
        float values[4 * VECTORS];
        UNROLL for (int v = 0; v < VECTORS; v++) {
            // Vectors beyond the row are for windows that do not exist.
            float4 four = left + 4 * v < WIDTH ? *(const GLOBAL float4*)(from + 4 * v)
                                               : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            values[4 * v] = four.x, values[4 * v + 1] = four.y;
            values[4 * v + 2] = four.z, values[4 * v + 3] = four.w;
        }
        UNROLL for (int n = 0; n < 4; n++)
            UNROLL for (int b = 0; b < WINDOW_WIDTH; b++) {
                float value = values[n * STRIDE_X + b];
                if ((a == 0 && b == 0) || BEATS(value, best[n]))
                    best[n] = value, place[n] = first + n * STRIDE_X + a * WIDTH + b;
            }
    }

    int64 to = (plane * ROWS + row) * COLUMNS + column;
    UNROLL for (int n = 0; n < 4; n++)
        if (column + n < COLUMNS) y[to + n] = best[n], where[to + n] = place[n];
}
