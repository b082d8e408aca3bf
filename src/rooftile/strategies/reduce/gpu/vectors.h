// Threads combine rows of adjacent elements, a vector at a time.

#pragma once
#include "common/pieces.h"
#include "finish.h"

// The combination of LOADS independent totals.
__device__ __forceinline__ carried of_own(const carried* own)
{
    carried total = own[0];
    UNROLL
    for (int i = 1; i < LOADS; i++) total = combined(total, own[i]);
    return total;
}

// The part of thread `lane` of a row's first segment in the elements after its last vector;
// `threads` threads share the work.
__device__ __forceinline__ carried of_rest(const GLOBAL given* elements, int64 columns, int lane,
                                           int threads)
{
    carried total = IDENTITY;
    if (VECTOR > 1 && blockIdx.x == 0)
        for (int64 j = columns / VECTOR * VECTOR + lane; j < columns; j += threads)
            total = combined(total, taken(elements[j]));
    return total;
}

// A thread's part of a row: the vector `at`, and then one for every `stride`.
__device__ __forceinline__ carried of_share(const GLOBAL given* elements, int64 columns, int64 at,
                                            int64 stride)
{
    const GLOBAL vector* vectors = (const GLOBAL vector*)elements;
    int64 count = columns / VECTOR;
    carried own[LOADS];
    UNROLL
    for (int i = 0; i < LOADS; i++) own[i] = IDENTITY;
    for (; at + (LOADS - 1) * stride < count; at += LOADS * stride) {
        vector loaded[LOADS];
        UNROLL
        for (int i = 0; i < LOADS; i++) loaded[i] = vectors[at + i * stride];
        UNROLL
        for (int i = 0; i < LOADS; i++) own[i] = combined(own[i], of_vector(loaded[i]));
    }
    // The remaining vectors: their loads do not wait for each other either.
    UNROLL
    for (int i = 0; i < LOADS - 1; i++)
        if (at + i * stride < count) own[i] = combined(own[i], of_vector(vectors[at + i * stride]));
    return of_own(own);
}
