// strips: tiles a single term deep.
//
// The limit of thin tiles: the threads of the block's first row load a strip of TILE elements down
// a and one of TILE along b, and then all make one product each.  Global memory is read as seldom
// as in `tiled_any`, since that follows from the results of a block alone.  But every product now
// waits at two barriers, and most threads load nothing.
// What it removes: nothing but shared memory; it shows what the depth of a tile is good for.
//
// a, b, out: see operands.h.
// Grid: x over tiles of results, along a row of tiles first.  Block: TILE x TILE.

#include "gemm/gpu/operands.h"

__global__ void LAUNCH_BOUNDS(TILE * TILE)
strips(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
       GLOBAL float* __restrict__ out, int rows, int inner, int columns)
{
    __shared__ float left[TILE];
    __shared__ float right[TILE];
    int tx = threadIdx.x, ty = threadIdx.y, across = (columns + TILE - 1) / TILE;
    int first_row = blockIdx.x / across * TILE, first_column = blockIdx.x % across * TILE;
    int loaded_row = first_row + tx, j = first_column + tx, i = first_row + ty;

    float sum = 0.0f;
    for (int k = 0; k < inner; k++) {
        if (ty == 0) {
            left[tx] = loaded_row < rows ? a[place_in_a(loaded_row, k, rows, inner)] : 0.0f;
            right[tx] = j < columns ? b[place_in_b(k, j, inner, columns)] : 0.0f;
        }
        __syncthreads();
        sum += left[ty] * right[tx];
        __syncthreads();
    }
    if (i < rows && j < columns) out[(int64)i * columns + j] = sum;
}
