// The last kernel of rungs that leave sums[images][MAPS][PLANE_SIZE]: bias, activation and pool.

#pragma once

#include "conv2d/gpu/conv2d.h"

// Grid: x over the slice's results in blocks of THREADS.
__global__ void KERNEL(finish)(
    const GLOBAL float* sums, const GLOBAL float* bias, GLOBAL float* out, int first, int images)
{
    int64 result = (int64)blockIdx.x * THREADS + threadIdx.x;
    if (result >= (int64)images * RESULT_SIZE) return;

    int64 plane = result / (ROWS * COLUMNS);
    int row = (int)(result % (ROWS * COLUMNS)) / COLUMNS, column = (int)(result % COLUMNS);
    out[(size_t)first * RESULT_SIZE + result] =
        finished(sums + (size_t)plane * PLANE_SIZE, bias[plane % MAPS], row, column);
}
