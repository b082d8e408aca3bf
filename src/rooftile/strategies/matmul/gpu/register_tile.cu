// Rung 10, register_tile: tiles in shared memory, and in each thread's registers.
//
// In `two_by_two` a value from shared memory serves two multiply-adds.  Here a thread keeps
// RESULTS_R x RESULTS_C results in registers, so that a value serves RESULTS_C or RESULTS_R of
// them.  Four neighbours in memory come by one load, whichever way a matrix lies: neighbours along
// the terms are turned on their way into shared memory, others stored as they come.  While a tile
// is multiplied, the next is on its way.
// What it removes: most reads of shared memory.
//
// a, b, out: see matmul.h.  A_VECTORS and B_VECTORS: whether rows begin on 16 bytes.
// Grid: x over tiles of results, along a row of tiles first.  Block: THREADS, warps of 4 x 8.

#include "matmul/gpu/matmul.h"

#define THREADS_R (TILE_R / RESULTS_R)
#define THREADS_C (TILE_C / RESULTS_C)
#define THREADS (THREADS_R * THREADS_C)
#define LOADS(tile) (((tile) * (TILE_K / 4) + THREADS - 1) / THREADS)
// Four floats more than are used, so that columns begin in different banks.
#define PITCH(tile) ((tile) + 4)

// Four neighbours of a line from `at` on, zeros beyond its end.
__device__ __forceinline__ float4 four(const GLOBAL given* line, int at, int end, bool vectors)
{
    if (vectors)
        return at < end ? *(const GLOBAL float4*)(line + at) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    return make_float4(at < end ? line[at] : 0.0f, at + 1 < end ? line[at + 1] : 0.0f,
                       at + 2 < end ? line[at + 2] : 0.0f, at + 3 < end ? line[at + 3] : 0.0f);
}

// Where a thread's four of load `e` are in a tile: places across it, and terms.
__device__ __forceinline__ int place_of(int e, int tile, bool along)
{
    return along ? e / (TILE_K / 4) : e % (tile / 4) * 4;
}
__device__ __forceinline__ int term_of(int e, int tile, bool along)
{
    return along ? e % (TILE_K / 4) * 4 : e / (tile / 4);
}

// Fetches this thread's elements of a tile from `first` and term `start` on.  Terms lie `along` a
// matrix's lines, or across them.
__device__ __forceinline__ void fetch(const GLOBAL given* __restrict__ matrix, int first, int size,
                                      int start, int inner, int tile, bool along, bool vectors,
                                      int thread, float4* held)
{
    UNROLL for (int l = 0; l < LOADS(tile); l++) {
        int place = first + place_of(thread + l * THREADS, tile, along);
        int term = start + term_of(thread + l * THREADS, tile, along);
        int line = along ? place : term, lines = along ? size : inner;
        int length = along ? inner : size;
        // Lines beyond the last have no elements.
        held[l] = four(matrix + (int64)(line < lines ? line : 0) * length, along ? term : place,
                       line < lines ? length : 0, vectors);
    }
}

// Puts them into shared memory, [terms][places].
__device__ __forceinline__ void keep(SHARED float* to, int tile, bool along, int thread,
                                     const float4* held)
{
    UNROLL for (int l = 0; l < LOADS(tile); l++) {
        int e = thread + l * THREADS;
        if (e >= tile * (TILE_K / 4)) continue;
        SHARED float* at = to + term_of(e, tile, along) * PITCH(tile) + place_of(e, tile, along);
        if (!along) {
            *(SHARED float4*)at = held[l];
            continue;
        }
        at[0] = held[l].x;
        at[PITCH(tile)] = held[l].y;
        at[2 * PITCH(tile)] = held[l].z;
        at[3 * PITCH(tile)] = held[l].w;
    }
}

// Reads `count` values of a thread from shared memory, in fours of neighbours `apart` from each
// other.
__device__ __forceinline__ void four_by_four(const SHARED float* from, int count, int apart,
                                             float* values)
{
    UNROLL for (int q = 0; q < count / 4; q++) {
        float4 held = *(const SHARED float4*)(from + q * apart);
        values[4 * q] = held.x;
        values[4 * q + 1] = held.y;
        values[4 * q + 2] = held.z;
        values[4 * q + 3] = held.w;
    }
}

__global__ void RESIDENT_BOUNDS(THREADS, 512 / THREADS)
matmul(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
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
        UNROLL for (int c = 0; c < RESULTS_C; c++) {
            int j = first_column + c / 4 * THREADS_C * 4 + tx * 4 + c % 4;
            if (j < columns) out[(int64)i * columns + j] = sum[r][c];
        }
    }
}
