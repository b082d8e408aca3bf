// The last kernel of rungs that leave several partial results of each result, which joins them in
// their order.
//
// partials[rows][segments], results[rows].
// Grid: x over rows.
// Block: x over FINISH_THREADS (a power of two) threads.

#pragma once
#include "reduce.h"

__global__ void LAUNCH_BOUNDS(FINISH_THREADS)
KERNEL(finish)(const GLOBAL carried* __restrict__ partials, GLOBAL result* __restrict__ results,
               int segments)
{
    __shared__ carried joined[FINISH_THREADS];
    const GLOBAL carried* row = partials + (size_t)blockIdx.x * segments;
    int thread = threadIdx.x, share = (segments + FINISH_THREADS - 1) / FINISH_THREADS;
    int first = thread * share, last = first + share < segments ? first + share : segments;
    carried total = IDENTITY;
    for (int j = first; j < last; j++) total = combined(total, row[j]);
    joined[thread] = total;
    // Neighbours first, and never out of order.
    for (int reach = 1; reach < FINISH_THREADS; reach *= 2) {
        __syncthreads();
        int left = 2 * reach * thread;
        if (left < FINISH_THREADS) joined[left] = combined(joined[left], joined[left + reach]);
    }
    if (thread == 0) results[blockIdx.x] = stored(joined[0]);
}
