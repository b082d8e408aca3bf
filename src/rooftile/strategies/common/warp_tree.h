// Trees of a warp's registers, and of the warps of a block.  CUDA only.

#pragma once
#include "common/operator.h"

// The values of a warp combined, in its first thread.
__device__ __forceinline__ carried of_warp(carried value)
{
    UNROLL
    for (int reach = 16; reach > 0; reach /= 2)
        value = combined(value, __shfl_down_sync(~0u, value, reach));
    return value;
}

// The values of a block of `threads` combined, in its first thread; `joined` has a place for each
// warp.  All threads call it.
__device__ __forceinline__ carried of_block(carried* joined, int threads, carried value)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    value = of_warp(value);
    if (lane == 0) joined[warp] = value;
    __syncthreads();
    if (warp == 0) value = of_warp(lane < threads / 32 ? joined[lane] : IDENTITY);
    return value;
}
