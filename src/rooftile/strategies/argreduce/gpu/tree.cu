// tree: a tournament in shared memory, each value with its place.
//
// In `naive`, few rows leave the device idle.  Here a block brings LOADS elements a thread, each
// thread keeps the first of its own, and half of the threads play against the other half, and so
// on.  What it removes: idle multiprocessors, reads far apart.
//
// x[slabs][columns][inner], values and places[slabs][segments][inner].
// Grid: x over segments, y over rows.
// Block: x over THREADS (a power of two) threads.

#define FAMILY tree
#include "finish.h"

__global__ void LAUNCH_BOUNDS(THREADS)
tree(const GLOBAL given* __restrict__ x, GLOBAL carried* __restrict__ values,
     GLOBAL int64* __restrict__ places, int rows, int64 columns, int64 inner)
{
    __shared__ carried joined[THREADS];
    __shared__ int64 joined_places[THREADS];
    int thread = threadIdx.x;
    for (int64 row = blockIdx.y; row < rows; row += gridDim.y) {
        const GLOBAL given* elements = x + FIRST(row);
        int64 first = (int64)blockIdx.x * (LOADS * THREADS) + thread;
        struct found own = {IDENTITY, NOWHERE};
        for (int i = 0; i < LOADS; i++) {
            int64 j = first + i * THREADS;
            if (j < columns) {
                struct found other = {taken(elements[j * APART]), j};
                own = first_of(own, other);
            }
        }
        own = tree_of(joined, joined_places, thread, THREADS, own);
        if (thread == 0)
            keep(values, places, (row / inner * gridDim.x + blockIdx.x) * inner + row % inner, own);
        // The next row's values overwrite what this one's tree has read.
        __syncthreads();
    }
}
