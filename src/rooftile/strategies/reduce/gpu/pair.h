// Common part of the three trees: a block loads two elements a thread to shared memory.

#pragma once
#include "finish.h"

// Elements of a row's segment to partial[2 * THREADS], and the identity beyond the row's end.
__device__ __forceinline__ void bring(SHARED carried* partial, const GLOBAL given* x, int64 row,
                                      int64 columns, int64 inner)
{
    const GLOBAL given* elements = x + FIRST(row);
    for (int e = threadIdx.x; e < 2 * THREADS; e += THREADS) {
        int64 j = (int64)blockIdx.x * (2 * THREADS) + e;
        partial[e] = j < columns ? taken(elements[j * APART]) : IDENTITY;
    }
}
