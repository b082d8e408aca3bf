// The last kernel of rungs that leave what several segments of each row have found, and how the
// first kernel keeps that.
//
// values[slabs][segments][inner], segment_places likewise, places[slabs][inner].  FINAL says that
// there is one segment, whose places are the results.
// Grid: x over runs of FINISH_ROWS results, y over slabs.
// Block: x over FINISH_ROWS results, y over FINISH_SHARES (a power of two) shares of their segments.

#pragma once
#include "argreduce.h"

__device__ __forceinline__ void keep(GLOBAL carried* values, GLOBAL int64* places, int64 at,
                                     struct found own)
{
    places[at] = own.place;
#if !FINAL
    values[at] = own.value;
#endif
}

__global__ void LAUNCH_BOUNDS(FINISH_ROWS * FINISH_SHARES)
KERNEL(finish)(
    const GLOBAL carried* __restrict__ values, const GLOBAL int64* __restrict__ segment_places,
    GLOBAL int64* __restrict__ places, int slabs, int segments, int64 inner)
{
    __shared__ carried joined[FINISH_ROWS * FINISH_SHARES];
    __shared__ int64 joined_places[FINISH_ROWS * FINISH_SHARES];
    int share = threadIdx.y, thread = threadIdx.x * FINISH_SHARES + share;
    int64 column = (int64)blockIdx.x * FINISH_ROWS + threadIdx.x;
    for (int64 slab = blockIdx.y; slab < slabs; slab += gridDim.y) {
        struct found own = {IDENTITY, NOWHERE};
        if (column < inner)
            for (int j = share; j < segments; j += FINISH_SHARES) {
                int64 at = (slab * segments + j) * inner + column;
                struct found other = {values[at], segment_places[at]};
                own = first_of(own, other);
            }
        own = tree_of(joined, joined_places, thread, FINISH_SHARES, own);
        if (share == 0 && column < inner) places[slab * inner + column] = own.place;
        // The next slab's values overwrite what this one's tree has read.
        __syncthreads();
    }
}
