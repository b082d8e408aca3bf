// coarsened: each thread combines LOADS elements before the tree.
//
// In `tree`, half of the threads are idle after the first pass, and the tree's barriers come for
// every two elements a thread.  Here a thread combines LOADS elements in its register, a block's
// width apart.  What it removes: most barriers and most passes of shared memory.
//
// x[slabs][columns][inner], partials[rows][segments].
// Grid: x over segments, y over rows.
// Block: x over THREADS (a power of two) threads.

#define FAMILY coarsened
#include "finish.h"

__global__ void LAUNCH_BOUNDS(THREADS)
coarsened(const GLOBAL given* __restrict__ x, GLOBAL kept* __restrict__ partials, int rows,
          int64 columns, int64 inner)
{
    __shared__ carried joined[THREADS];
    int thread = threadIdx.x;
    for (int64 row = blockIdx.y; row < rows; row += gridDim.y) {
        const GLOBAL given* elements = x + FIRST(row);
        int64 first = (int64)blockIdx.x * (LOADS * THREADS) + thread;
        carried total = IDENTITY;
        UNROLL
        for (int i = 0; i < LOADS; i++) {
            int64 j = first + i * THREADS;
            if (j < columns) total = combined(total, taken(elements[j * APART]));
        }
        total = tree_of(joined, thread, THREADS, total);
        if (thread == 0) partials[row * gridDim.x + blockIdx.x] = KEPT(total);
        // The next row's values overwrite what this one's tree has read.
        __syncthreads();
    }
}
