// The elements of a persistent block: a row's elements at a stride of all threads of the row's
// blocks.

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
