// tree: each thread joins an element of the first half with its place of the second half.
//
// In `compacted`, the threads of a warp meet in one bank of shared memory. Here the elements of a
// pass are adjacent, and the working threads too. What it removes: bank conflicts. What it costs:
// elements are joined out of order.
//
// x[slabs][columns][inner], partials[rows][segments].
// Grid: x over segments, y over rows.
// Block: x over THREADS (a power of two) threads.

#define FAMILY tree
#include "pair.h"

__global__ void LAUNCH_BOUNDS(THREADS)
tree(const GLOBAL given* __restrict__ x, GLOBAL kept* __restrict__ partials, int rows,
     int64 columns, int64 inner)
{
    __shared__ carried partial[2 * THREADS];
    int thread = threadIdx.x;
    for (int64 row = blockIdx.y; row < rows; row += gridDim.y) {
        bring(partial, x, row, columns, inner);
        for (int stride = THREADS; stride > 0; stride /= 2) {
            __syncthreads();
            if (thread < stride)
                partial[thread] = combined(partial[thread], partial[thread + stride]);
        }
        if (thread == 0) partials[row * gridDim.x + blockIdx.x] = KEPT(partial[0]);
        // The next row's elements overwrite what this one's tree has read.
        __syncthreads();
    }
}
