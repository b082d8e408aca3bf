// shared_x: a thread a row, x in shared memory tile by tile.
//
// In `row_threads` every thread reads all of x from global memory.  Here a block brings a tile of x
// to shared memory once for its rows.
// What it removes: all but one in BLOCK of the reads of x.  No atomics: sums are the same in every
// run.
//
// a, x, y: see matvec.h.  Grid: x over rows.

#define FAMILY shared_x
#include "matvec/gpu/matvec.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
shared_x(const GLOBAL float* __restrict__ a, const GLOBAL float* __restrict__ x,
         GLOBAL float* __restrict__ y, int rows, int columns)
{
    __shared__ float held[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;

    float sum = 0.0f;
    for (int start = 0; start < columns; start += BLOCK) {
        int own = start + threadIdx.x, count = columns - start < BLOCK ? columns - start : BLOCK;
        __syncthreads();
        if (own < columns) held[threadIdx.x] = x[own];
        __syncthreads();
        if (i < rows)
            for (int j = 0; j < count; j++)
                sum += a[place_in_a(i, start + j, rows, columns)] * held[j];
    }
    if (i < rows) y[i] = sum;
}
