// compacted: the same tree, its threads without gaps between them.
//
// In `interleaved`, warps stay at work for a few threads.  Here thread t takes the t-th pair of a
// pass, so that warps retire whole.  What it removes: divergence.  What it costs: the threads of a
// warp read 2 * stride words apart, up to 32 of them from one bank of shared memory.
//
// x[slabs][columns][inner], partials[rows][segments].
// Grid: x over segments, y over rows.
// Block: x over THREADS (a power of two) threads.

#define FAMILY compacted
#include "pair.h"

__global__ void LAUNCH_BOUNDS(THREADS)
compacted(const GLOBAL given* __restrict__ x, GLOBAL kept* __restrict__ partials, int rows,
          int64 columns, int64 inner)
{
    __shared__ carried partial[2 * THREADS];
    int thread = threadIdx.x;
    for (int64 row = blockIdx.y; row < rows; row += gridDim.y) {
        bring(partial, x, row, columns, inner);
        for (int stride = 1; stride <= THREADS; stride *= 2) {
            __syncthreads();
            if (thread < THREADS / stride) {
                int left = 2 * thread * stride;
                partial[left] = combined(partial[left], partial[left + stride]);
            }
        }
        if (thread == 0) partials[row * gridDim.x + blockIdx.x] = KEPT(partial[0]);
        // The next row's elements overwrite what this one's tree has read.
        __syncthreads();
    }
}
