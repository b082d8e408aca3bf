// rows: a block brings a whole row to shared memory and picks from there.
//
// In `shared_index` a warp's load touches a sector for every element, and neighbouring elements are
// asked for by other warps.  Here a row is read once, by neighbours, and its elements are picked
// in shared memory, where only banks may collide.  What it removes: scattered reads of device
// memory.
//
// x[rows][columns], index[width], y[rows][width].
// Grid: x over blocks, which take rows a grid apart.
// Block: x over BLOCK columns at a time.

#include "column.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
rows(const GLOBAL element* __restrict__ x, const GLOBAL int* __restrict__ index,
     GLOBAL element* __restrict__ y, int64 count, int columns, int width)
{
    __shared__ element row[COLUMNS];
    for (int64 i = blockIdx.x; i < count; i += gridDim.x) {
        UNROLL_BY(4)
        for (int j = threadIdx.x; j < columns; j += BLOCK) row[j] = x[i * columns + j];
        __syncthreads();
        UNROLL_BY(4)
        for (int j = threadIdx.x; j < width; j += BLOCK)
            y[i * width + j] = row[column_of(index[j], columns)];
        // The next row overwrites what this one's threads read.
        __syncthreads();
    }
}
