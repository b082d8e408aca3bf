// What a block that stays combines: every so many elements of a row, as many as the row's blocks
// have threads.

#pragma once
#include "finish.h"

__device__ __forceinline__ carried of_share(const GLOBAL given* x, int64 row, int64 columns,
                                            int64 inner)
{
    const GLOBAL given* elements = x + FIRST(row);
    int64 stride = (int64)gridDim.x * THREADS;
    carried total = IDENTITY;
    for (int64 j = (int64)blockIdx.x * THREADS + threadIdx.x; j < columns; j += stride)
        total = combined(total, taken(elements[j * APART]));
    return total;
}
