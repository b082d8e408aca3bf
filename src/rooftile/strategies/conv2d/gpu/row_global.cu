// row_global: a thread owns a map and reads its rows from global memory.
//
// The threads of a block make different maps of the same row of the result. A thread keeps that
// row's sums and slides a float4 window along the rows of the image, so a weight, once in a
// register, meets a window in every row of sums. Bias, activation and the 2x2 maximum follow in
// the same thread. All threads of a block read the same element at the same time, which the cache
// hands to a whole warp. What it removes: most reads of weights, and all barriers; what it costs:
// every thread reads the rows for itself.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[CHANNELS][MASK_HEIGHT][MASK_WIDTH][MAPS],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x groups that share out the rows of the result (the tunable GROUPS), y spans of SPAN columns
// of the convolution, z images.  Block: ITEMS threads that share out the maps.

#include "conv2d/gpu/rows.h"

__global__ void LAUNCH_BOUNDS(ITEMS)
row_global(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
           const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    int left = blockIdx.y * SPAN - PAD_X;
    for (int n = blockIdx.z; n < images; n += gridDim.z)
        for (int row = blockIdx.x * RESULT_ROWS; row < ROWS; row += gridDim.x * RESULT_ROWS)
            for (int m = threadIdx.x; m < MAPS; m += ITEMS) {
                int top = row * POOL_HEIGHT - PAD_Y;
                float4 sums[WINDOWS * SUM_ROWS];
                start_sums(sums, bias[m]);
                for (int c = 0; c < CHANNELS; c++) {
                    const GLOBAL float* channel = x + (size_t)n * IMAGE_SIZE + c * HEIGHT * WIDTH;
                    float taps[MASK_SIZE];
                    load_taps(taps, weights, c, m);
                    EACH_WINDOW for (int w = 0; w < WINDOWS; w++)
                        UNROLL for (int l = 0; l < LINES; l++) {
                            float seen[SEEN];
                            UNROLL for (int j = 0; j < SEEN; j++)
                                seen[j] = pixel(channel, top + l, left + 4 * w + j);
                            slide(sums + w * SUM_ROWS, seen, taps, l);
                        }
                }
                store_rows(out, n, m, row, sums);
            }
}
