// What threads combine of rows whose elements lie beside each other, a vector at a time.

#pragma once
#include "finish.h"
#include "pieces.h"

#if BYTES_SUMMED
// `sum` and the four bytes of a word.
__device__ __forceinline__ unsigned with_bytes(unsigned word, unsigned sum)
{
#ifdef __OPENCL_VERSION__
    unsigned pairs = (word & 0x00ff00ff) + ((word >> 8) & 0x00ff00ff);
    return sum + (pairs & 0xffff) + (pairs >> 16);
#else
    return __dp4a(word, 0x01010101u, sum);
#endif
}
#endif

// Joins the first elements with those `reach` behind them.
#define JOIN_HALVES(own, reach)                                                          \
    UNROLL                                                                               \
    for (int e = 0; e < reach; e++)                                                      \
        if (e + reach < VECTOR) own[e] = combined(own[e], own[e + reach]);

// The elements of a vector combined.
__device__ __forceinline__ carried of_vector(vector loaded)
{
#if BYTES_SUMMED && VECTOR > 1
    unsigned sum = with_bytes(loaded.x, with_bytes(loaded.y, 0));
    return with_bytes(loaded.z, with_bytes(loaded.w, sum));
#else
    carried own[VECTOR];
    UNROLL
    for (int e = 0; e < VECTOR; e++) own[e] = piece(loaded, e);
    JOIN_HALVES(own, 8)
    JOIN_HALVES(own, 4)
    JOIN_HALVES(own, 2)
    JOIN_HALVES(own, 1)
    return own[0];
#endif
}

// What LOADS independent totals combine to.
__device__ __forceinline__ carried of_own(const carried* own)
{
    carried total = own[0];
    UNROLL
    for (int i = 1; i < LOADS; i++) total = combined(total, own[i]);
    return total;
}

// What thread `lane` of a row's first segment combines of the elements behind its last vector;
// `threads` of them share the work.
__device__ __forceinline__ carried of_rest(const GLOBAL given* elements, int64 columns, int lane,
                                           int threads)
{
    carried total = IDENTITY;
    if (VECTOR > 1 && blockIdx.x == 0)
        for (int64 j = columns / VECTOR * VECTOR + lane; j < columns; j += threads)
            total = combined(total, taken(elements[j]));
    return total;
}

// What a thread combines of a row: the vector `at`, and then one for every `stride`.
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
    // Those that are left: their loads do not wait for each other either.
    UNROLL
    for (int i = 0; i < LOADS - 1; i++)
        if (at + i * stride < count) own[i] = combined(own[i], of_vector(vectors[at + i * stride]));
    return of_own(own);
}
