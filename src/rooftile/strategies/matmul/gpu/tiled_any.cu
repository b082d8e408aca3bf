// tiled_any: tiles in shared memory for sizes that no tile divides.
//
// As `tiled`, but tiles hang over the edges. A thread whose result is outside still loads elements
// that others need, so there are three guards and not one: of the element of a, of the element of
// b, and of the result. Elements outside are zeros, which add nothing.
// What it removes: the condition that tiles divide all sizes.
//
// a, b, out: see operands.h.
// Grid: x over tiles of results, along a row of tiles first.  Block: TILE x TILE.

#include "gemm/gpu/operands.h"

__global__ void LAUNCH_BOUNDS(TILE * TILE)
tiled_any(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
          GLOBAL float* __restrict__ out, int rows, int inner, int columns)
{
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, across = (columns + TILE - 1) / TILE;
    int i = blockIdx.x / across * TILE + ty, j = blockIdx.x % across * TILE + tx;

    float sum = 0.0f;
    for (int start = 0; start < inner; start += TILE) {
        bool in_a = i < rows && start + tx < inner, in_b = start + ty < inner && j < columns;
        left[ty][tx] = in_a ? a[place_in_a(i, start + tx, rows, inner)] : 0.0f;
        right[ty][tx] = in_b ? b[place_in_b(start + ty, j, inner, columns)] : 0.0f;
        __syncthreads();
        UNROLL for (int k = 0; k < TILE; k++) sum += left[ty][k] * right[k][tx];
        __syncthreads();
    }
    if (i < rows && j < columns) out[(int64)i * columns + j] = sum;
}
