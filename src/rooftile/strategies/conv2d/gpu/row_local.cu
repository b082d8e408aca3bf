// Rung 14, row_local: the row that all threads slide along, in shared memory.
//
// The threads of a block make different maps of the same row of the result, so they need the
// same input rows.  Together they copy each to shared memory (OpenCL's local memory), which all
// then read at one address at a time.  What it removes: a read of the row for each thread; what
// it costs: two barriers for each input row, between which there is little to do.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[CHANNELS][MASK_HEIGHT][MASK_WIDTH][MAPS],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x blocks that share out the result's rows (the tunable GROUPS), y spans of SPAN columns of
// the convolution, z images.  Block: ITEMS threads that share out the maps.

#include "conv2d/gpu/rows.h"

// One mask row's taps along the whole line, for the map whose weights these are.
__device__ __forceinline__ void slide(const SHARED float* line, const GLOBAL float* taps,
                                      float4* sums)
{
    UNROLL for (int q = 0; q < MASK_WIDTH; q++) {
        float tap = taps[q * MAPS];
        UNROLL for (int w = 0; w < WINDOWS; w++) {
            const SHARED float* from = line + 4 * w + q;
            sums[w] = add_product(sums[w], tap, make_float4(from[0], from[1], from[2], from[3]));
        }
    }
}

__global__ void LAUNCH_BOUNDS(ITEMS)
conv2d(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
       const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    __shared__ float line[LINE];
    int item = threadIdx.x, left = blockIdx.y * SPAN - PAD_X, first = blockIdx.y * POOLED_SPAN;
    for (int n = blockIdx.z; n < images; n += gridDim.z)
        for (int row = blockIdx.x; row < ROWS; row += gridDim.x)
            for (int base = 0; base < MAPS; base += ITEMS) {
                // A thread without a map takes the last one's weights, and only keeps the barriers.
                int m = base + item < MAPS ? base + item : MAPS - 1;
                float pooled[POOLED_SPAN];
                UNROLL for (int j = 0; j < POOLED_SPAN; j++) pooled[j] = POOL_START;
                for (int a = 0; a < POOL_HEIGHT; a++) {
                    int top = row * POOL_HEIGHT + a - PAD_Y;
                    float4 sums[WINDOWS];
                    UNROLL for (int w = 0; w < WINDOWS; w++)
                        sums[w] = make_float4(bias[m], bias[m], bias[m], bias[m]);
                    for (int r = 0; r < CHANNELS * MASK_HEIGHT; r++) {
                        int c = r / MASK_HEIGHT, p = r % MASK_HEIGHT;
                        const GLOBAL float* channel =
                            x + (size_t)n * IMAGE_SIZE + c * HEIGHT * WIDTH;
                        __syncthreads();
                        for (int j = item; j < LINE; j += ITEMS)
                            line[j] = pixel(channel, top + p, left + j);
                        __syncthreads();
                        slide(line, weights + r * MASK_WIDTH * MAPS + m, sums);
                    }
                    UNROLL for (int w = 0; w < WINDOWS; w++) pool_columns(pooled, w, sums[w]);
                }
                UNROLL for (int j = 0; j < POOLED_SPAN; j++)
                    if (base + item < MAPS && first + j < COLUMNS)
                        out[(((size_t)n * MAPS + m) * ROWS + row) * COLUMNS + first + j] =
                            pooled[j];
            }
}
