// register_tile: tiles in shared memory, and in each thread's registers.
//
// In `two_by_two` a value from shared memory serves two multiply-adds.  Here a thread keeps
// RESULTS_R x RESULTS_C results in registers, so that a value serves RESULTS_C or RESULTS_R of
// them.  Four neighbours in memory come by one load, whichever way a matrix lies: neighbours along
// the terms are turned on their way into shared memory, others stored as they come.  Four
// neighbouring results leave by one store.  While a tile is multiplied, the next is on its way.
// What it removes: most reads of shared memory.
//
// a, b, out: see matmul.h.  A_VECTORS, B_VECTORS, OUT_VECTORS: whether lines begin on 16 bytes.
// Grid: x over tiles of results, along a row of tiles first.  Block: THREADS, warps of 4 x 8.

#define THREADS_R (TILE_R / RESULTS_R)
#define THREADS_C (TILE_C / RESULTS_C)
#define THREADS (THREADS_R * THREADS_C)
#define LOADERS THREADS

#include "matmul/gpu/fours.h"

// Stores what of four neighbours in a line of out lies there.
__device__ __forceinline__ void store_four(GLOBAL float* to, const float* sum, int there)
{
#if OUT_VECTORS
    if (there > 0) *(GLOBAL float4*)to = make_float4(sum[0], sum[1], sum[2], sum[3]);
#else
    UNROLL for (int c = 0; c < 4; c++)
        if (c < there) to[c] = sum[c];
#endif
}

__global__ void RESIDENT_BOUNDS(THREADS, 512 / THREADS)
register_tile(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
              GLOBAL float* __restrict__ out, int rows, int inner, int columns)
{
    __shared__ __attribute__((aligned(16))) float left[2][TILE_K * PITCH(TILE_R)];
    __shared__ __attribute__((aligned(16))) float right[2][TILE_K * PITCH(TILE_C)];
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    int ty = warp / (THREADS_C / 8) * 4 + lane / 8, tx = warp % (THREADS_C / 8) * 8 + lane % 8;
    int across = (columns + TILE_C - 1) / TILE_C;
    int first_row = blockIdx.x / across * TILE_R, first_column = blockIdx.x % across * TILE_C;

    float sum[RESULTS_R][RESULTS_C];
    UNROLL for (int r = 0; r < RESULTS_R; r++)
        UNROLL for (int c = 0; c < RESULTS_C; c++) sum[r][c] = 0.0f;
    float4 of_a[LOADS(TILE_R)], of_b[LOADS(TILE_C)];
    fetch(a, first_row, rows, 0, inner, TILE_R, !TRANSPOSE_A, A_VECTORS, thread, of_a);
    fetch(b, first_column, columns, 0, inner, TILE_C, TRANSPOSE_B, B_VECTORS, thread, of_b);
    keep(left[0], TILE_R, !TRANSPOSE_A, thread, of_a);
    keep(right[0], TILE_C, TRANSPOSE_B, thread, of_b);
    __syncthreads();

    for (int start = 0, buffer = 0; start < inner; start += TILE_K, buffer ^= 1) {
        int next = start + TILE_K;
        if (next < inner) {
            fetch(a, first_row, rows, next, inner, TILE_R, !TRANSPOSE_A, A_VECTORS, thread, of_a);
            fetch(b, first_column, columns, next, inner, TILE_C, TRANSPOSE_B, B_VECTORS, thread,
                  of_b);
        }
        UNROLL for (int k = 0; k < TILE_K; k++) {
            float column[RESULTS_R], line[RESULTS_C];
            four_by_four(left[buffer] + k * PITCH(TILE_R) + ty * 4, RESULTS_R, THREADS_R * 4,
                         column);
            four_by_four(right[buffer] + k * PITCH(TILE_C) + tx * 4, RESULTS_C, THREADS_C * 4,
                         line);
            UNROLL for (int r = 0; r < RESULTS_R; r++)
                UNROLL for (int c = 0; c < RESULTS_C; c++) sum[r][c] += column[r] * line[c];
        }
        if (next < inner) {
            keep(left[buffer ^ 1], TILE_R, !TRANSPOSE_A, thread, of_a);
            keep(right[buffer ^ 1], TILE_C, TRANSPOSE_B, thread, of_b);
        }
        __syncthreads();
    }

    UNROLL for (int r = 0; r < RESULTS_R; r++) {
        int i = first_row + r / 4 * THREADS_R * 4 + ty * 4 + r % 4;
        if (i >= rows) continue;
        UNROLL for (int c = 0; c < RESULTS_C; c += 4) {
            int j = first_column + c * THREADS_C + tx * 4;
            store_four(out + (int64)i * columns + j, sum[r] + c, columns - j);
        }
    }
}
