// Common parts of matvec's texts. a[rows][columns], with TRANSPOSE a[columns][rows]; x[columns];
// y[rows]. Sizes come with the launch.

#pragma once

#include "common/atomics.h"

__device__ __forceinline__ int64 place_in_a(int i, int j, int rows, int columns)
{
    return TRANSPOSE ? (int64)j * rows + i : (int64)i * columns + j;
}

// Before atomics add to it, y is zero.  Grid: x over rows.
__global__ void KERNEL(clear)(GLOBAL float* y, int rows)
{
    int i = blockIdx.x * CLEAR_THREADS + threadIdx.x;
    if (i < rows) y[i] = 0.0f;
}
