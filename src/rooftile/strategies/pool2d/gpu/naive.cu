// Rung 1, naive: one thread makes one output, everything from global memory.
//
// x[images][CHANNELS][HEIGHT][WIDTH], out[images][CHANNELS][ROWS][COLUMNS].
// Grid: x over the results.

#include "common/fused.h"

__global__ void pool2d(const GLOBAL float* x, GLOBAL float* out, int images)
{
    int64 result = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (result >= (int64)images * CHANNELS * ROWS * COLUMNS) return;

    int place = (int)(result % (ROWS * COLUMNS));
    int top = place / COLUMNS * POOL_STRIDE_Y, left = place % COLUMNS * POOL_STRIDE_X;
    const GLOBAL float* plane = x + (size_t)(result / (ROWS * COLUMNS)) * HEIGHT * WIDTH;
    float pooled = POOL_START;
    for (int a = 0; a < POOL_HEIGHT; a++)
        for (int b = 0; b < POOL_WIDTH; b++)
            pooled = POOL_WITH(pooled, plane[(top + a) * WIDTH + left + b]);
    out[result] = POOL_END(pooled);
}
