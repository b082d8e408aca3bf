// persistent: no more blocks than the device holds, which bring more while all threads work.
//
// In `coarsened`, a block ends with a tree after LOADS elements a thread, and a block that begins
// finds nothing under way.  Here BLOCKS blocks a multiprocessor share out a row, and each thread
// goes on, a grid's width at a time, until the row ends; then comes one tree.  What it removes: all
// trees but one a resident block, and partial results.
//
// x[slabs][columns][inner], partials[rows][segments].
// Grid: x over segments, y over rows.
// Block: x over THREADS (a power of two) threads.

#define FAMILY persistent
#include "persistent.h"

__global__ void LAUNCH_BOUNDS(THREADS)
persistent(const GLOBAL given* __restrict__ x, GLOBAL kept* __restrict__ partials, int rows,
           int64 columns, int64 inner)
{
    __shared__ carried joined[THREADS];
    for (int64 row = blockIdx.y; row < rows; row += gridDim.y) {
        carried total = tree_of(joined, threadIdx.x, THREADS, of_share(x, row, columns, inner));
        if (threadIdx.x == 0) partials[row * gridDim.x + blockIdx.x] = KEPT(total);
        // The next row's values overwrite what this one's tree has read.
        __syncthreads();
    }
}
