// warps_terms: every warp of a block sums up terms of its own.
//
// Of a small product `register_tile` has few tiles, and few warps in each, which load a few terms
// after another and wait for all of them.  Here tiles are small, all of a block's warps make the
// same one, each from its own terms, and all load at once.  At the end their sums are added.
// What it removes: most of the waits of a small product.
//
// a, b, out: see operands.h.  A_VECTORS and B_VECTORS: whether rows begin on 16 bytes.
// Grid: x over tiles of results, along a row of tiles first.  Block: WARPS warps of 8 x 4.

#define TILE_R 32
#define TILE_C 16
#define TILE_K 16
#define THREADS (32 * WARPS)
#define LOADERS 32

#include "gemm/gpu/fours.h"

// Terms of all warps, and floats that a warp holds of both matrices.
#define DEEP (WARPS * TILE_K)
#define HELD (TILE_K * (PITCH(TILE_R) + PITCH(TILE_C)))

// The launch may overlap the end of the one before.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define GRIDDEPCONTROL_WAIT() \
    asm volatile("griddepcontrol.wait;\ngriddepcontrol.launch_dependents;" ::: "memory")
#else
#define GRIDDEPCONTROL_WAIT()
#endif

// Adds what a warp holds to a lane's 4 x 4 sums.
__device__ __forceinline__ void multiply(const SHARED float* left, const SHARED float* right,
                                         float sum[4][4])
{
    UNROLL for (int k = 0; k < TILE_K; k++) {
        float column[4], line[4];
        four_by_four(left + k * PITCH(TILE_R), 4, 0, column);
        four_by_four(right + k * PITCH(TILE_C), 4, 0, line);
        UNROLL for (int r = 0; r < 4; r++)
            UNROLL for (int c = 0; c < 4; c++) sum[r][c] += column[r] * line[c];
    }
}

__global__ void RESIDENT_BOUNDS(THREADS, 1)
warps_terms(const GLOBAL given* a, const GLOBAL given* b,
            GLOBAL float* __restrict__ out, int rows, int inner, int columns)
{
    __shared__ __attribute__((aligned(16))) float held[WARPS * HELD];
    GRIDDEPCONTROL_WAIT();
    int lane = threadIdx.x % 32, row = lane / 4 * 4, column = lane % 4 * 4;
    int across = (columns + TILE_C - 1) / TILE_C, first = threadIdx.x / 32 * TILE_K;
    int first_row = blockIdx.x / across * TILE_R, first_column = blockIdx.x % across * TILE_C;
    SHARED float* left = held + threadIdx.x / 32 * HELD;
    SHARED float* right = left + TILE_K * PITCH(TILE_R);

    float sum[4][4];
    UNROLL for (int r = 0; r < 4; r++) UNROLL for (int c = 0; c < 4; c++) sum[r][c] = 0.0f;
    float4 of_a[LOADS(TILE_R)], of_b[LOADS(TILE_C)];
    fetch(a, first_row, rows, first, inner, TILE_R, !TRANSPOSE_A, A_VECTORS, lane, of_a);
    fetch(b, first_column, columns, first, inner, TILE_C, TRANSPOSE_B, B_VECTORS, lane, of_b);
    for (int next = first + DEEP; next - first - DEEP < inner; next += DEEP) {
        keep(left, TILE_R, !TRANSPOSE_A, lane, of_a);
        keep(right, TILE_C, TRANSPOSE_B, lane, of_b);
        __syncthreads();
        if (next - first < inner) {
            fetch(a, first_row, rows, next, inner, TILE_R, !TRANSPOSE_A, A_VECTORS, lane, of_a);
            fetch(b, first_column, columns, next, inner, TILE_C, TRANSPOSE_B, B_VECTORS, lane, of_b);
        }
        multiply(left + row, right + column, sum);
        __syncthreads();
    }

    UNROLL for (int r = 0; r < 4; r++)
        *(SHARED float4*)(left + (row + r) * TILE_C + column) =
            make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
    __syncthreads();
    for (int e = threadIdx.x; e < TILE_R * TILE_C; e += THREADS) {
        float whole = 0.0f;
        UNROLL for (int warp = 0; warp < WARPS; warp++) whole += held[warp * HELD + e];
        int i = first_row + e / TILE_C, j = first_column + e % TILE_C;
        if (i < rows && j < columns) out[(int64)i * columns + j] = whole;
    }
}
