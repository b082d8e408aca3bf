// Rung 13, row_private: a thread slides a window of four columns along a row.
//
// The threads of a block make different maps of the same row of the result.  A thread copies
// each input row to its private memory (OpenCL's word) and slides a float4 window along it, a
// column a tap, so a weight is read once for SPAN columns.  Bias, activation and the 2x2
// maximum happen in private memory too.  It is registers, since all loops over columns are
// written out; a long SPAN spills.  What it removes: reads of weights, and all barriers; what
// it costs: every thread reads the row from the cache.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[CHANNELS][MASK_HEIGHT][MASK_WIDTH][MAPS],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x blocks that share out the result's rows (the tunable GROUPS), y spans of SPAN columns of
// the convolution, z images.  Block: ITEMS threads that share out the maps.

#include "conv2d/gpu/rows.h"

// One row of the convolution, of the map whose weights these are.
__device__ __forceinline__ void sum_row(const GLOBAL float* image, const GLOBAL float* weights,
                                        int top, int left, float4* sums)
{
    for (int c = 0; c < CHANNELS; c++)
        for (int p = 0; p < MASK_HEIGHT; p++) {
            const GLOBAL float* taps = weights + (c * MASK_HEIGHT + p) * MASK_WIDTH * MAPS;
            float line[LINE];
            UNROLL for (int j = 0; j < LINE; j++)
                line[j] = pixel(image + c * HEIGHT * WIDTH, top + p, left + j);
            UNROLL for (int q = 0; q < MASK_WIDTH; q++) {
                float tap = taps[q * MAPS];
                UNROLL for (int w = 0; w < WINDOWS; w++) {
                    int j = 4 * w + q;
                    float4 window = make_float4(line[j], line[j + 1], line[j + 2], line[j + 3]);
                    sums[w] = add_product(sums[w], tap, window);
                }
            }
        }
}

__global__ void LAUNCH_BOUNDS(ITEMS)
conv2d(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
       const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    int left = blockIdx.y * SPAN - PAD_X, first = blockIdx.y * POOLED_SPAN;
    for (int n = blockIdx.z; n < images; n += gridDim.z)
        for (int row = blockIdx.x; row < ROWS; row += gridDim.x)
            for (int m = threadIdx.x; m < MAPS; m += ITEMS) {
                float pooled[POOLED_SPAN];
                UNROLL for (int j = 0; j < POOLED_SPAN; j++) pooled[j] = POOL_START;
                for (int a = 0; a < POOL_HEIGHT; a++) {
                    float4 sums[WINDOWS];
                    UNROLL for (int w = 0; w < WINDOWS; w++)
                        sums[w] = make_float4(bias[m], bias[m], bias[m], bias[m]);
                    sum_row(x + (size_t)n * IMAGE_SIZE, weights + m,
                            row * POOL_HEIGHT + a - PAD_Y, left, sums);
                    UNROLL for (int w = 0; w < WINDOWS; w++) pool_columns(pooled, w, sums[w]);
                }
                UNROLL for (int j = 0; j < POOLED_SPAN; j++)
                    if (first + j < COLUMNS)
                        out[(((size_t)n * MAPS + m) * ROWS + row) * COLUMNS + first + j] =
                            pooled[j];
            }
}
