// naive: one thread makes one output, everything from global memory.
//
// x[images][CHANNELS][HEIGHT][WIDTH], out[images][CHANNELS][ROWS][COLUMNS]; parameters: see pool2d.h.
// Grid: x over the results.

#include "pool2d/gpu/pool2d.h"

__global__ void naive(const GLOBAL float* x, WEIGHTS_ARGUMENT BIAS_ARGUMENT GLOBAL float* out,
                      int images)
{
    int64 result = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (result >= (int64)images * CHANNELS * ROWS * COLUMNS) return;

    int place = (int)(result % (ROWS * COLUMNS));
    int top = place / COLUMNS * POOL_STRIDE_Y, left = place % COLUMNS * POOL_STRIDE_X;
    int64 number = result / (ROWS * COLUMNS);
    const GLOBAL float* plane = x + (size_t)number * HEIGHT * WIDTH;
    float pooled = POOL_START;
    for (int a = 0; a < POOL_HEIGHT; a++)
        for (int b = 0; b < POOL_WIDTH; b++)
            pooled = POOL_WITH(pooled, TERM(plane[(top + a) * WIDTH + left + b], a, b));
    out[result] = finished(pooled, SHIFT(number % CHANNELS));
}
