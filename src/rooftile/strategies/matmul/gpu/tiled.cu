// tiled: square tiles of both matrices in shared memory, where tiles divide all sizes.
//
// In `naive`, every element of a and of b is read again for each result that needs it.  Here a
// block makes TILE x TILE results; its threads load a tile of each matrix together, and each value
// then serves TILE threads.  What it removes: all but one in TILE of the reads of global memory.
// There is no guard: every thread loads and stores.  A transposed matrix is loaded by the threads
// that need its elements, which then lie a row apart.
//
// a, b, out: see operands.h.
// Grid: x over tiles of results, along a row of tiles first.  Block: TILE x TILE.

#include "gemm/gpu/operands.h"

__global__ void LAUNCH_BOUNDS(TILE * TILE)
tiled(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
      GLOBAL float* __restrict__ out, int rows, int inner, int columns)
{
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, across = columns / TILE;
    int i = blockIdx.x / across * TILE + ty, j = blockIdx.x % across * TILE + tx;

    float sum = 0.0f;
    for (int start = 0; start < inner; start += TILE) {
        left[ty][tx] = a[place_in_a(i, start + tx, rows, inner)];
        right[ty][tx] = b[place_in_b(start + ty, j, inner, columns)];
        __syncthreads();
        UNROLL for (int k = 0; k < TILE; k++) sum += left[ty][k] * right[k][tx];
        __syncthreads();
    }
    out[(int64)i * columns + j] = sum;
}
