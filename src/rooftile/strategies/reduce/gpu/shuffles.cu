// shuffles: the threads of a warp exchange registers.  CUDA only.
//
// In `coarsened`, the tree goes through shared memory, with a barrier for each pass.  Here the
// threads of a warp read each other's registers, and only the results of warps go through shared
// memory, with one barrier.  What it removes: barriers, passes of shared memory.
//
// x[slabs][columns][inner], partials[rows][segments].
// Grid: x over segments, y over rows.
// Block: x over THREADS (whole warps) threads.

#define FAMILY shuffles
#include "common/warp_tree.h"
#include "finish.h"

__global__ void LAUNCH_BOUNDS(THREADS)
shuffles(const given* __restrict__ x, kept* __restrict__ partials, int rows, int64 columns,
         int64 inner)
{
    __shared__ carried joined[THREADS / 32];
    for (int64 row = blockIdx.y; row < rows; row += gridDim.y) {
        const given* elements = x + FIRST(row);
        int64 first = (int64)blockIdx.x * (LOADS * THREADS) + threadIdx.x;
        carried total = IDENTITY;
        UNROLL
        for (int i = 0; i < LOADS; i++) {
            int64 j = first + i * THREADS;
            if (j < columns) total = combined(total, taken(elements[j * APART]));
        }
        total = of_block(joined, THREADS, total);
        if (threadIdx.x == 0) partials[row * gridDim.x + blockIdx.x] = KEPT(total);
        // The next row's values overwrite what this one's tree has read.
        __syncthreads();
    }
}
