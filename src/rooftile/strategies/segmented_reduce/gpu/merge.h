// Elements and the ends of segments as one sequence of items, in which an end follows the elements
// before it: shares of equal numbers of items are equal work for any lengths of segments (Merrill
// and Garland's merge path).

#pragma once
#include "common/operator.h"

// Number of ends among the first `items`.
__device__ __forceinline__ int64 ends_among(const GLOBAL OFFSET* offsets, int64 segments,
                                            int64 count, int64 items)
{
    int64 low = items > count ? items - count : 0, high = items < segments ? items : segments;
    while (low < high) {
        int64 middle = (low + high) / 2;
        // The end stands before the last of the items that are left for elements.
        if (offsets[middle + 1] < items - middle)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// A running total: `ended` says that a segment ended on the way, and that what came before does not
// count any more.
struct run {
    carried total;
    int ended;
};

__device__ __forceinline__ struct run after(struct run before, struct run own)
{
    if (!own.ended) own.total = combined(before.total, own.total);
    own.ended |= before.ended;
    return own;
}

// The combined runs of threads with the same threadIdx.y up to each, and in `own` up to the thread
// before; all threads of a block call it.
__device__ __forceinline__ void scan(SHARED struct run* runs, struct run* own, int threads)
{
    int thread = threadIdx.x;
    struct run nothing = {IDENTITY, 0};
#ifdef __OPENCL_VERSION__
    runs[thread] = *own;
    for (int reach = 1; reach < threads; reach *= 2) {
        __syncthreads();
        struct run before = runs[thread >= reach ? thread - reach : 0];
        __syncthreads();
        if (thread >= reach) {
            *own = after(before, *own);
            runs[thread] = *own;
        }
    }
    __syncthreads();
#else
    // Within warps by shuffles; then each warp's first threads take what the warps before have.
    UNROLL
    for (int reach = 1; reach < 32; reach *= 2) {
        struct run before;
        before.total = __shfl_up_sync(0xffffffffu, own->total, reach);
        before.ended = __shfl_up_sync(0xffffffffu, own->ended, reach);
        if (thread % 32 >= reach) *own = after(before, *own);
    }
    if (threads > 32) {
        if (thread % 32 == 31) runs[thread / 32] = *own;
        __syncthreads();
        struct run earlier = nothing;
        for (int warp = 0; warp < thread / 32; warp++) earlier = after(earlier, runs[warp]);
        *own = after(earlier, *own);
        __syncthreads();
    }
    runs[thread] = *own;
    if (threads > 32)
        __syncthreads();
    else
        __syncwarp();
#endif
    *own = thread > 0 ? runs[thread - 1] : nothing;
}
