// A thread's chunks: LOADS vectors each.  While it walks it keeps the extreme of the best chunk and
// the chunk's number; only at the end does it look for the place, in that chunk, and only if none of
// its neighbours has found better.

#pragma once
#include "common/pieces.h"
#include "finish.h"

// The place of `value` in a chunk whose vectors lie `stride` apart, of a row's vectors; those from
// `count` on are none.
__device__ __forceinline__ int64 place_in(const GLOBAL vector* vectors, int64 at, int64 stride,
                                          int64 count, carried value)
{
    for (int i = 0; i < LOADS; i++) {
        int64 v = at + i * stride;
        if (v >= count) break;
        vector loaded = vectors[v];
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            if (same(piece(loaded, e), value)) return v * VECTOR + e;
    }
    return NOWHERE;
}

#define NEIGHBOURS (TEAM < 32 ? TEAM : 32)

// The best value of a thread and its NEIGHBOURS, which are of one team.  All threads of a block call
// it; in OpenCL `joined` has a place for each.
__device__ __forceinline__ carried best_nearby(SHARED carried* joined, int thread, carried own)
{
#ifdef __OPENCL_VERSION__
    joined[thread] = own;
    for (int reach = 1; reach < NEIGHBOURS; reach *= 2) {
        __syncthreads();
        carried other = joined[thread ^ reach];
        __syncthreads();
        joined[thread] = own = combined(own, other);
    }
#else
    const unsigned there = TEAM * ROWS < 32 ? (1u << TEAM * ROWS % 32) - 1 : 0xffffffffu;
    UNROLL
    for (int reach = 1; reach < NEIGHBOURS; reach *= 2)
        own = combined(own, __shfl_xor_sync(there, own, reach));
#endif
    return own;
}

// The best of a thread's elements of a row after its last vector, or `own` if that comes first.
__device__ __forceinline__ struct found with_rest(struct found own, const GLOBAL given* elements,
                                                  int64 columns, int lane, int threads)
{
    if (VECTOR > 1 && blockIdx.x == 0)
        for (int64 j = columns / VECTOR * VECTOR + lane; j < columns; j += threads) {
            struct found other = {taken(elements[j]), j};
            own = first_of(own, other);
        }
    return own;
}
