// restrict_unroll: `naive` with what the compiler may know.
//
// __restrict__ says that no store changes an input, so loads may be kept, reordered and
// go through the read-only cache; the literal mask lets the taps be written out, so
// their offsets are in the instructions.  What it removes: address arithmetic.  Either can be
// switched off (RESTRICTED, UNROLLED), so that what each gives can be measured apart.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x and y over the result's tiles of BLOCK_X x BLOCK_Y, z over images x maps.

#include "conv2d/gpu/conv2d.h"

#if RESTRICTED
#define ALONE __restrict__
#else
#define ALONE
#endif
#if UNROLLED
#define EACH_TAP UNROLL
#else
#define EACH_TAP ROLLED
#endif

__global__ void LAUNCH_BOUNDS(BLOCK_X * BLOCK_Y)
restrict_unroll(const GLOBAL float* ALONE x, const GLOBAL float* ALONE weights,
                const GLOBAL float* ALONE bias, GLOBAL float* ALONE out, int images)
{
    int column = blockIdx.x * BLOCK_X + threadIdx.x;
    int row = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (row >= ROWS || column >= COLUMNS) return;

    for (int64 unit = blockIdx.z; unit < (int64)images * MAPS; unit += gridDim.z) {
        const GLOBAL float* image = x + unit / MAPS * IMAGE_SIZE;
        int m = unit % MAPS;
        float pooled = POOL_START;
        for (int a = 0; a < POOL_HEIGHT; a++)
            for (int b = 0; b < POOL_WIDTH; b++) {
                int top = (row * POOL_STRIDE_Y + a) * STRIDE_Y - PAD_Y;
                int left = (column * POOL_STRIDE_X + b) * STRIDE_X - PAD_X;
                float z = bias[m];
                for (int c = 0; c < CHANNELS; c++) {
                    const GLOBAL float* channel = image + c * HEIGHT * WIDTH;
                    const GLOBAL float* mask = weights + (m * CHANNELS + c) * MASK_SIZE;
                    EACH_TAP for (int p = 0; p < MASK_HEIGHT; p++)
                        EACH_TAP for (int q = 0; q < MASK_WIDTH; q++)
                            z += mask[p * MASK_WIDTH + q] * pixel(channel, top + p, left + q);
                }
                pooled = POOL_WITH(pooled, activate(kept(z, top, left)));
            }
        out[(unit * ROWS + row) * COLUMNS + column] = POOL_END(pooled);
    }
}
