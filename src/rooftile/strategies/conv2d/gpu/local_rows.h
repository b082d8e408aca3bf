// The kernel of the rungs whose groups keep the rows of a channel in shared memory (OpenCL's local
// memory): they differ in RESULT_ROWS alone.

#pragma once

#include "conv2d/gpu/rows.h"

__global__ void LAUNCH_BOUNDS(ITEMS)
FAMILY(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
       const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    __shared__ float lines[LINES][LINE];
    int item = threadIdx.x, left = blockIdx.y * SPAN - PAD_X;
    for (int n = blockIdx.z; n < images; n += gridDim.z)
        for (int row = blockIdx.x * RESULT_ROWS; row < ROWS; row += gridDim.x * RESULT_ROWS)
            for (int base = 0; base < MAPS; base += ITEMS) {
                // A thread without a map takes the last one's weights, and only keeps the barriers.
                int m = base + item < MAPS ? base + item : MAPS - 1;
                float4 sums[WINDOWS * SUM_ROWS];
                start_sums(sums, bias[m]);
                for (int c = 0; c < CHANNELS; c++) {
                    const GLOBAL float* channel = x + (size_t)n * IMAGE_SIZE + c * HEIGHT * WIDTH;
                    float taps[MASK_SIZE];
                    load_taps(taps, weights, c, m);
                    __syncthreads();
                    for (int e = item; e < LINES * LINE; e += ITEMS)
                        lines[e / LINE][e % LINE] =
                            pixel(channel, row * POOL_HEIGHT - PAD_Y + e / LINE, left + e % LINE);
                    __syncthreads();
                    EACH_WINDOW for (int w = 0; w < WINDOWS; w++)
                        UNROLL for (int l = 0; l < LINES; l++) {
                            float seen[SEEN];
                            UNROLL for (int j = 0; j < SEEN; j++) seen[j] = lines[l][4 * w + j];
                            slide(sums + w * SUM_ROWS, seen, taps, l);
                        }
                }
                if (base + item < MAPS) store_rows(out, n, m, row, sums);
            }
}
