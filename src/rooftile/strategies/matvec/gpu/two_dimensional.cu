// two_dimensional: a tile of a a block, sums by atomics in shared memory first.
//
// In `column_threads` each product is an atomic in global memory.  Here a block has ROWS rows of a,
// and of each row a segment of SEGMENT columns: a thread adds up a share of one row's segment, then
// to the row's sum in shared memory, and one thread a row adds that to y.
// What it removes: all but one in SEGMENT atomics of global memory.
//
// a, x, y: see matvec.h.
// Grid: x over tiles, along the columns first.  Block: x over LANES threads of a row, y over ROWS.

#define FAMILY two_dimensional
#include "matvec/gpu/matvec.h"

__global__ void LAUNCH_BOUNDS(LANES * ROWS)
two_dimensional(
    const GLOBAL float* __restrict__ a, const GLOBAL float* __restrict__ x, GLOBAL float* y,
    int rows, int columns)
{
    __shared__ float sums[ROWS];
    int tx = threadIdx.x, ty = threadIdx.y, across = (columns + SEGMENT - 1) / SEGMENT;
    int i = blockIdx.x / across * ROWS + ty, first = blockIdx.x % across * SEGMENT;
    int end = columns - first < SEGMENT ? columns : first + SEGMENT;
    if (tx == 0) sums[ty] = 0.0f;
    __syncthreads();

    float sum = 0.0f;
    if (i < rows)
        for (int j = first + tx; j < end; j += LANES)
            sum += a[place_in_a(i, j, rows, columns)] * x[j];
    add_shared(sums + ty, sum);
    __syncthreads();
    if (tx == 0 && i < rows) atomicAdd(y + i, sums[ty]);
}
