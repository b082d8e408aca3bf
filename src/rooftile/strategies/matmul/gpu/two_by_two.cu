// two_by_two: a thread makes 2 x 2 results.
//
// In `tiled_any` each multiply-add waits for two reads of shared memory.  Here a thread reads two
// values of each tile for four multiply-adds.  Its results lie half a tile apart, so that
// neighbours load, read and store neighbours.
// What it removes: half of the reads of shared memory, in both directions alike.
//
// a, b, out: see operands.h.
// Grid: x over tiles of 2 HALF x 2 HALF results, along a row of tiles first.  Block: HALF x HALF.

#include "gemm/gpu/operands.h"

#define TILE (2 * HALF)

__global__ void LAUNCH_BOUNDS(HALF * HALF)
two_by_two(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
           GLOBAL float* __restrict__ out, int rows, int inner, int columns)
{
    __shared__ float left[TILE][HALF];
    __shared__ float right[HALF][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, across = (columns + TILE - 1) / TILE;
    int i = blockIdx.x / across * TILE + ty, j = blockIdx.x % across * TILE + tx;

    float sum[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};
    for (int start = 0; start < inner; start += HALF) {
        UNROLL for (int apart = 0; apart < TILE; apart += HALF) {
            bool in_a = i + apart < rows && start + tx < inner;
            bool in_b = start + ty < inner && j + apart < columns;
            left[ty + apart][tx] =
                in_a ? a[place_in_a(i + apart, start + tx, rows, inner)] : 0.0f;
            right[ty][tx + apart] =
                in_b ? b[place_in_b(start + ty, j + apart, inner, columns)] : 0.0f;
        }
        __syncthreads();
        UNROLL for (int k = 0; k < HALF; k++) {
            float above = left[ty][k], below = left[ty + HALF][k];
            float first = right[k][tx], second = right[k][tx + HALF];
            sum[0][0] += above * first;
            sum[0][1] += above * second;
            sum[1][0] += below * first;
            sum[1][1] += below * second;
        }
        __syncthreads();
    }
    UNROLL for (int r = 0; r < 2; r++)
        UNROLL for (int c = 0; c < 2; c++)
            if (i + r * HALF < rows && j + c * HALF < columns)
                out[(int64)(i + r * HALF) * columns + j + c * HALF] = sum[r][c];
}
