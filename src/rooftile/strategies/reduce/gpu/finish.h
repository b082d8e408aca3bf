// The last kernel of rungs that leave several partial sums of each row.
//
// partials[rows][segments], sums[rows].
// Grid: x over rows.
// Block: x over THREADS (a power of two) threads.

#pragma once
#include "sums.h"

__global__ void LAUNCH_BOUNDS(THREADS)
finish(const GLOBAL total* __restrict__ partials, GLOBAL total* __restrict__ sums, int segments)
{
    __shared__ total joined[THREADS];
    const GLOBAL total* row = partials + (size_t)blockIdx.x * segments;
    total sum = 0;
    for (int j = threadIdx.x; j < segments; j += THREADS) sum += row[j];
    sum = tree(joined, threadIdx.x, THREADS, sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
