// Tiles of both matrices in shared memory, loaded along memory whichever way a matrix is laid out.
//
// Threads load the tiles together, and each value then serves TILE threads.  Neighbouring threads
// read neighbours in memory: where a matrix is transposed, threads exchange their places in the
// tile for its load, and the tile is transposed on its way into shared memory.
//
// a, b, bias, out: see operands.h.
// Grid: x over tiles of results, along a row of tiles first.  Block: TILE x TILE.

#include "gemm/gpu/operands.h"

__global__ void LAUNCH_BOUNDS(TILE * TILE)
FAMILY(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
       BIAS_PARAMETER GLOBAL float* __restrict__ out, int rows, int inner, int columns)
{
    // Of a transposed matrix a column more than is used: threads write down the columns, which are
    // in different banks.
    __shared__ float left[TILE][TILE + TRANSPOSE_A];
    __shared__ float right[TILE][TILE + TRANSPOSE_B];
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
        // A tile's products are a sum of their own, as in `naive`.
        float run = 0.0f;
        UNROLL for (int k = 0; k < TILE; k++) run += left[ty][k] * right[k][tx];
        sum += run;
        __syncthreads();
    }
    i = first_row + ty, j = first_column + tx;
    if (i < rows && j < columns) out[(int64)i * columns + j] = EPILOGUE(sum, j);
}
