// corner_turned: tiles of a transposed matrix, loaded along its memory.
//
// In `tiled_any` a thread loads the element that is its own in the tile, whichever way the matrix
// lies: of a transposed one, neighbours load elements that are a row apart.  Here threads exchange
// their places in the tile for such a load, so that neighbours read neighbours in memory, and the
// tile is turned on its way into shared memory.
// What it removes: the loads of transposed matrices that fetch a sector for each element.
//
// a, b, out: see matmul.h.
// Grid: x over tiles of results, along a row of tiles first.  Block: TILE x TILE.

#include "matmul/gpu/matmul.h"

__global__ void LAUNCH_BOUNDS(TILE * TILE)
corner_turned(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
              GLOBAL float* __restrict__ out, int rows, int inner, int columns)
{
    // A column more than is used: threads write down the columns, which lie in different banks.
    __shared__ float left[TILE][TILE + 1];
    __shared__ float right[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y, across = (columns + TILE - 1) / TILE;
    int first_row = blockIdx.x / across * TILE, first_column = blockIdx.x % across * TILE;
    // Which element of the tile of a, and of b, this thread loads: row or column, and term.
    int row = TRANSPOSE_A ? tx : ty, term_a = TRANSPOSE_A ? ty : tx;
    int column = TRANSPOSE_B ? ty : tx, term_b = TRANSPOSE_B ? tx : ty;
    int i = first_row + row, j = first_column + column;

    float sum = 0.0f;
    for (int start = 0; start < inner; start += TILE) {
        bool in_a = i < rows && start + term_a < inner, in_b = start + term_b < inner && j < columns;
        left[row][term_a] = in_a ? a[place_in_a(i, start + term_a, rows, inner)] : 0.0f;
        right[term_b][column] = in_b ? b[place_in_b(start + term_b, j, inner, columns)] : 0.0f;
        __syncthreads();
        UNROLL for (int k = 0; k < TILE; k++) sum += left[ty][k] * right[k][tx];
        __syncthreads();
    }
    i = first_row + ty, j = first_column + tx;
    if (i < rows && j < columns) out[(int64)i * columns + j] = sum;
}
