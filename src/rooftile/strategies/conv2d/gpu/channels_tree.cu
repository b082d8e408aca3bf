// channels_tree: input channels summed in parallel, joined by a tree.
//
// As the rung below, but the threads that share an output are in one block: their partial
// sums meet in shared memory and are added in pairs, in the same order every time.  No
// atomics, no sums in memory, and bias, activation and pool follow in the same kernel.
// The tree leaves more threads idle with each of its rounds.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x over the results.  Block: x over BLOCK_X neighbouring results, y over PARTS
// (a power of two) parts of the channels: c = y, y + PARTS, ...

#include "conv2d/gpu/conv2d.h"

__global__ void channels_tree(
    const GLOBAL float* x, const GLOBAL float* weights, const GLOBAL float* bias, GLOBAL float* out,
    int images)
{
    __shared__ float partial[PARTS][BLOCK_X];
    int lane = threadIdx.x, part = threadIdx.y;
    int64 result = (int64)blockIdx.x * BLOCK_X + lane;
    int inside = result < (int64)images * RESULT_SIZE;
    int64 n = result / RESULT_SIZE;
    int m = (int)(result % RESULT_SIZE) / (ROWS * COLUMNS);
    int row = (int)(result % (ROWS * COLUMNS)) / COLUMNS, column = (int)(result % COLUMNS);

    const GLOBAL float* image = x + (size_t)n * IMAGE_SIZE;
    const GLOBAL float* filter = weights + (size_t)m * CHANNELS * MASK_SIZE;
    float shift = bias[m], pooled = POOL_START;
    for (int position = 0; position < POOL_HEIGHT * POOL_WIDTH; position++) {
        int top = (row * POOL_STRIDE_Y + position / POOL_WIDTH) * STRIDE_Y - PAD_Y;
        int left = (column * POOL_STRIDE_X + position % POOL_WIDTH) * STRIDE_X - PAD_X;
        float sum = 0.0f;
        for (int c = part; c < CHANNELS && inside; c += PARTS)
            for (int p = 0; p < MASK_HEIGHT; p++)
                for (int q = 0; q < MASK_WIDTH; q++)
                    sum += filter[(c * MASK_HEIGHT + p) * MASK_WIDTH + q] *
                           pixel(image + c * HEIGHT * WIDTH, top + p, left + q);
        partial[part][lane] = sum;
        for (int reach = PARTS / 2; reach > 0; reach /= 2) {
            __syncthreads();
            if (part < reach) partial[part][lane] += partial[part + reach][lane];
        }
        if (part == 0)
            pooled = POOL_WITH(pooled, activate(kept(partial[0][lane] + shift, top, left)));
        // The next position's sums overwrite what the tree has read.
        __syncthreads();
    }
    if (part == 0 && inside) out[result] = POOL_END(pooled);
}
