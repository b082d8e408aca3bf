// coarsened: a thread makes a strip of 1 x STRIP results, a tile apart from each other.
//
// In `tiled_any` the blocks of a row of tiles each load the same tiles of a.  Here one block makes
// STRIP of these tiles, and a thread its element of each: a tile of a is loaded once for all, and a
// value of it is read from shared memory once for STRIP multiply-adds.
// What it removes: STRIP - 1 of STRIP loads of a, and nearly half of the reads of shared memory.
//
// a, b, out: see operands.h.
// Grid: x over runs of STRIP tiles of results, along a row first.  Block: TILE x TILE.

#include "gemm/gpu/operands.h"

#define WIDTH (TILE * STRIP)

__global__ void LAUNCH_BOUNDS(TILE * TILE)
coarsened(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
          GLOBAL float* __restrict__ out, int rows, int inner, int columns)
{
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, across = (columns + WIDTH - 1) / WIDTH;
    int i = blockIdx.x / across * TILE + ty, j = blockIdx.x % across * WIDTH + tx;

    float sum[STRIP];
    UNROLL for (int s = 0; s < STRIP; s++) sum[s] = 0.0f;
    for (int start = 0; start < inner; start += TILE) {
        bool in_a = i < rows && start + tx < inner;
        left[ty][tx] = in_a ? a[place_in_a(i, start + tx, rows, inner)] : 0.0f;
        UNROLL for (int s = 0; s < STRIP; s++) {
            bool in_b = start + ty < inner && j + s * TILE < columns;
            right[ty][s * TILE + tx] =
                in_b ? b[place_in_b(start + ty, j + s * TILE, inner, columns)] : 0.0f;
        }
        __syncthreads();
        UNROLL for (int k = 0; k < TILE; k++) {
            float factor = left[ty][k];
            UNROLL for (int s = 0; s < STRIP; s++) sum[s] += factor * right[k][s * TILE + tx];
        }
        __syncthreads();
    }
    UNROLL for (int s = 0; s < STRIP; s++)
        if (i < rows && j + s * TILE < columns) out[(int64)i * columns + j + s * TILE] = sum[s];
}
