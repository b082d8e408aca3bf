// shared_index: a block keeps its part of the index in shared memory, for many rows.
//
// What it removes: a load of the index for every element.  The reads of x stay as they are.
//
// x[rows][columns], index[width], y[rows][width].
// Grid: x over blocks of columns, y over bands of ROWS rows.
// Block: x over ACROSS columns, y over DOWN rows at a time.

#include "column.h"

__global__ void LAUNCH_BOUNDS(ACROSS * DOWN)
shared_index(const GLOBAL element* __restrict__ x, const GLOBAL int* __restrict__ index,
             GLOBAL element* __restrict__ y, int64 rows, int columns, int width)
{
    __shared__ int wanted[ACROSS];
    int j = blockIdx.x * ACROSS + threadIdx.x;
    if (threadIdx.y == 0 && j < width) wanted[threadIdx.x] = column_of(index[j], columns);
    __syncthreads();
    if (j >= width) return;
    for (int64 band = blockIdx.y; band * ROWS < rows; band += gridDim.y)
        for (int r = threadIdx.y; r < ROWS; r += DOWN) {
            int64 i = band * ROWS + r;
            if (i < rows) y[i * width + j] = x[i * columns + wanted[threadIdx.x]];
        }
}
