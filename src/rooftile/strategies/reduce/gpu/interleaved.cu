// interleaved: a block joins neighbours in shared memory, then neighbours' neighbours.
//
// In `naive`, few rows leave the device idle, and neighbouring threads read a row apart.  Here a
// block of THREADS threads brings twice as many elements, and joins them by a tree; the partial
// results of a row's segments are joined by `finish`.  What it removes: idle multiprocessors, reads
// far apart.  What it costs: thread t works while the stride divides t, so that every warp stays at
// work until the last passes, with ever fewer of its threads.
//
// x[slabs][columns][inner], partials[rows][segments].
// Grid: x over segments, y over rows.
// Block: x over THREADS (a power of two) threads.

#define FAMILY interleaved
#include "pair.h"

__global__ void LAUNCH_BOUNDS(THREADS)
interleaved(const GLOBAL given* __restrict__ x, GLOBAL kept* __restrict__ partials, int rows,
            int64 columns, int64 inner)
{
    __shared__ carried partial[2 * THREADS];
    int thread = threadIdx.x;
    for (int64 row = blockIdx.y; row < rows; row += gridDim.y) {
        bring(partial, x, row, columns, inner);
        for (int stride = 1; stride <= THREADS; stride *= 2) {
            __syncthreads();
            if (thread % stride == 0) {
                int left = 2 * thread;
                partial[left] = combined(partial[left], partial[left + stride]);
            }
        }
        if (thread == 0) partials[row * gridDim.x + blockIdx.x] = KEPT(partial[0]);
        // The next row's elements overwrite what this one's tree has read.
        __syncthreads();
    }
}
