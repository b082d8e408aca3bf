// naive: one thread makes one output, everything from global memory.
//
// Threads along x make neighbours of a row, so a warp reads neighbours under a tap.  With ALONG_ROWS
// (naive_transposed) they make neighbours of a column: the same work, but what a warp reads
// or stores at a time is rows apart.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[MAPS][CHANNELS / CONV_GROUPS][MASK_HEIGHT][MASK_WIDTH],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x and y over the result's tiles of BLOCK_X x BLOCK_Y, or BLOCK_Y x BLOCK_X, z over images
// x maps.

#include "conv2d/gpu/conv2d.h"

#define GROUP (CHANNELS / CONV_GROUPS)

__global__ void naive(const GLOBAL float* x, const GLOBAL float* weights, const GLOBAL float* bias,
                      GLOBAL float* out, int images)
{
    int across = blockIdx.x * BLOCK_X + threadIdx.x;
    int down = blockIdx.y * BLOCK_Y + threadIdx.y;
    int row = ALONG_ROWS ? across : down, column = ALONG_ROWS ? down : across;
    if (row >= ROWS || column >= COLUMNS) return;

    for (int64 unit = blockIdx.z; unit < (int64)images * MAPS; unit += gridDim.z) {
        int m = unit % MAPS;
        const GLOBAL float* image = x + (size_t)(unit / MAPS) * IMAGE_SIZE +
                                    m / (MAPS / CONV_GROUPS) * GROUP * HEIGHT * WIDTH;
        float pooled = POOL_START;
        for (int a = 0; a < POOL_HEIGHT; a++)
            for (int b = 0; b < POOL_WIDTH; b++) {
                int top = (row * POOL_STRIDE_Y + a) * STRIDE_Y - PAD_Y;
                int left = (column * POOL_STRIDE_X + b) * STRIDE_X - PAD_X;
                float z = bias[m];
                for (int c = 0; c < GROUP; c++)
                    for (int p = 0; p < MASK_HEIGHT; p++)
                        for (int q = 0; q < MASK_WIDTH; q++)
                            z += weights[((m * GROUP + c) * MASK_HEIGHT + p) * MASK_WIDTH + q] *
                                 pixel(image + c * HEIGHT * WIDTH, top + p * DILATION_Y,
                                       left + q * DILATION_X);
                pooled = POOL_WITH(pooled, activate(kept(z, top, left)));
            }
        out[((size_t)unit * ROWS + row) * COLUMNS + column] = POOL_END(pooled);
    }
}
