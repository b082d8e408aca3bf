// Rung 2, tree: a block sums a segment of a row by a tree in shared memory.
//
// In `naive`, few rows leave the device idle, and neighbouring threads read a row apart.  Here each
// thread brings two elements; then half of the threads add what the other half has, and so on, the
// active ones always the first of the block, so that warps retire whole.  What it removes: idle
// multiprocessors, reads far apart.
//
// x[rows][columns], partials[rows][segments], sums[rows].
// Grid: x over segments, y over rows.
// Block: x over THREADS (a power of two) threads.

#include "finish.h"

__global__ void LAUNCH_BOUNDS(THREADS)
segments(const GLOBAL given* __restrict__ x, GLOBAL total* __restrict__ partials, int rows,
         int64 columns)
{
    __shared__ total joined[THREADS];
    int64 first = (int64)blockIdx.x * 2 * THREADS + threadIdx.x, second = first + THREADS;
    for (int row = blockIdx.y; row < rows; row += gridDim.y) {
        const GLOBAL given* elements = x + row * columns;
        total sum = first < columns ? elements[first] : 0;
        if (second < columns) sum += elements[second];
        sum = tree(joined, threadIdx.x, THREADS, sum);
        if (threadIdx.x == 0) partials[(size_t)row * gridDim.x + blockIdx.x] = sum;
        // The next row's values overwrite what this one's tree has read.
        __syncthreads();
    }
}
