// register_tile: tiles in shared memory, and in each thread's registers.
//
// A thread keeps RESULTS_R x RESULTS_C results in registers, so that a value from shared memory
// serves RESULTS_C or RESULTS_R multiply-adds, where in simpler tiles each waits for two reads.
// Four neighbours in memory come by one load, whichever way a matrix is laid out: neighbours along
// the terms are transposed on their way into shared memory, others stored as they come.  Four
// neighbouring results leave by one store.  While a tile is multiplied, the next is on its way.
// Where tiles are too few to occupy the device to the end, each of PARTS blocks takes `share` terms
// of a tile, and `finish` adds their sums.
// What it removes: most reads of shared memory.
//
// A thread adds the products of a part one after the other: a second set of sums would take the
// registers that the tile needs.  Where terms are so ordered that every rounding goes the same way,
// as no random ones are, the error grows with their number and can leave the budget, which grows
// with its square root.  `naive` and `corner_turned` add short runs.
//
// a, b, bias, out: see operands.h; with several parts partial[PARTS][rows][columns] between the
// kernels.  A_VECTORS, B_VECTORS, OUT_VECTORS: whether lines begin on 16 bytes.
// Grid: x over tiles of results, along a row of tiles first; y over parts.  Block: THREADS, warps of
// 4 x 8.

#define THREADS_R (TILE_R / RESULTS_R)
#define THREADS_C (TILE_C / RESULTS_C)
#define THREADS (THREADS_R * THREADS_C)
#define LOADERS THREADS

#include "gemm/gpu/fours.h"

#if PARTS > 1
#define SUM_PARAMETER
#define STORED(sum, column) (sum)
#else
#define SUM_PARAMETER BIAS_PARAMETER
#define STORED(sum, column) EPILOGUE(sum, column)
#endif

__global__ void RESIDENT_BOUNDS(THREADS, 512 / THREADS)
register_tile(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
              SUM_PARAMETER GLOBAL float* __restrict__ out, int rows, int inner, int columns,
              int share)
{
    __shared__ __attribute__((aligned(16))) float left[2][TILE_K * PITCH(TILE_R)];
    __shared__ __attribute__((aligned(16))) float right[2][TILE_K * PITCH(TILE_C)];
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    int ty = warp / (THREADS_C / 8) * 4 + lane / 8, tx = warp % (THREADS_C / 8) * 8 + lane % 8;
    int across = (columns + TILE_C - 1) / TILE_C;
    int first_row = blockIdx.x / across * TILE_R, first_column = blockIdx.x % across * TILE_C;
    int start = PARTS > 1 ? blockIdx.y * share : 0;
    int end = PARTS > 1 && inner - start > share ? start + share : inner;

    float sum[RESULTS_R][RESULTS_C];
    UNROLL for (int r = 0; r < RESULTS_R; r++)
        UNROLL for (int c = 0; c < RESULTS_C; c++) sum[r][c] = 0.0f;
    float4 of_a[LOADS(TILE_R)], of_b[LOADS(TILE_C)];
    fetch(a, first_row, rows, start, inner, TILE_R, !TRANSPOSE_A, A_VECTORS, thread, of_a);
    fetch(b, first_column, columns, start, inner, TILE_C, TRANSPOSE_B, B_VECTORS, thread, of_b);
    keep(left[0], TILE_R, !TRANSPOSE_A, thread, of_a);
    keep(right[0], TILE_C, TRANSPOSE_B, thread, of_b);
    __syncthreads();

    for (int buffer = 0; start < end; start += TILE_K, buffer ^= 1) {
        int next = start + TILE_K;
        if (next < end) {
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
        if (next < end) {
            keep(left[buffer ^ 1], TILE_R, !TRANSPOSE_A, thread, of_a);
            keep(right[buffer ^ 1], TILE_C, TRANSPOSE_B, thread, of_b);
        }
        __syncthreads();
    }

    if (PARTS > 1) out += (int64)blockIdx.y * rows * columns;
    UNROLL for (int r = 0; r < RESULTS_R; r++) {
        int i = first_row + r / 4 * THREADS_R * 4 + ty * 4 + r % 4;
        if (i >= rows) continue;
        GLOBAL float* line = out + (int64)i * columns;
        UNROLL for (int c = 0; c < RESULTS_C; c += 4) {
            int j = first_column + c * THREADS_C + tx * 4;
#if OUT_VECTORS
            if (j < columns)
                *(GLOBAL float4*)(line + j) =
                    make_float4(STORED(sum[r][c], j), STORED(sum[r][c + 1], j + 1),
                                STORED(sum[r][c + 2], j + 2), STORED(sum[r][c + 3], j + 3));
#else
            UNROLL for (int e = 0; e < 4; e++)
                if (j + e < columns) line[j + e] = STORED(sum[r][c + e], j + e);
#endif
        }
    }
}

#if PARTS > 1
// Adds the parts' sums in their order.  Grid: x over the results.
__global__ void register_tile_finish(const GLOBAL float* __restrict__ partial,
                                     BIAS_PARAMETER GLOBAL float* __restrict__ out, int rows,
                                     int columns)
{
    int64 e = (int64)blockIdx.x * FINISH_BLOCK + threadIdx.x, results = (int64)rows * columns;
    if (e >= results) return;

    float sum = 0.0f;
    UNROLL for (int part = 0; part < PARTS; part++) sum += partial[part * results + e];
    out[e] = EPILOGUE(sum, e % columns);
}
#endif
