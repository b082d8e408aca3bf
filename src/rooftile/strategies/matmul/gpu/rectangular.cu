// rectangular: tiles of TILE_ROWS x TILE_COLUMNS results, a thread each.
//
// In a square tile each value of a and of b serves TILE threads.  Here a value of a serves
// TILE_COLUMNS threads, one of b TILE_ROWS: a wide tile reads a less often, and whole lines of b.
// The first DEPTH threads of each row load a.
// What it removes: most reads of a.
//
// a, b, out: see operands.h.
// Grid: x over tiles of results, along a row of tiles first.  Block: TILE_COLUMNS x TILE_ROWS.

#include "gemm/gpu/operands.h"

#define DEPTH TILE_ROWS

__global__ void LAUNCH_BOUNDS(TILE_ROWS * TILE_COLUMNS)
rectangular(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
            GLOBAL float* __restrict__ out, int rows, int inner, int columns)
{
    __shared__ float left[TILE_ROWS][DEPTH];
    __shared__ float right[DEPTH][TILE_COLUMNS];
    int tx = threadIdx.x, ty = threadIdx.y, across = (columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
    int i = blockIdx.x / across * TILE_ROWS + ty, j = blockIdx.x % across * TILE_COLUMNS + tx;

    float sum = 0.0f;
    for (int start = 0; start < inner; start += DEPTH) {
        bool in_a = i < rows && start + tx < inner, in_b = start + ty < inner && j < columns;
        if (tx < DEPTH) left[ty][tx] = in_a ? a[place_in_a(i, start + tx, rows, inner)] : 0.0f;
        right[ty][tx] = in_b ? b[place_in_b(start + ty, j, inner, columns)] : 0.0f;
        __syncthreads();
        UNROLL for (int k = 0; k < DEPTH; k++) sum += left[ty][k] * right[k][tx];
        __syncthreads();
    }
    if (i < rows && j < columns) out[(int64)i * columns + j] = sum;
}
