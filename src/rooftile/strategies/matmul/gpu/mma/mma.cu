// mma: the matrix product on tensor cores, of matrices as they lie.
//
// Both matrices come to shared memory as they lie in memory, whichever way that is, by copies that
// go on meanwhile.  A lane takes its elements from there one by one and rounds them in registers on
// their way to the cores, so nothing is turned, rounded or laid before: b passes once for each row
// of tiles.  Which term is which of an instruction's is free as long as both sides agree; lanes
// take terms so that a warp's reads meet all banks in either order.  Where tiles are too few, blocks
// share a tile's terms, and `finish` adds their sums.
// With three NUMBERS, float32 is split in three of bfloat16, x = high + middle + low, exactly, and six
// products stand for one; the others are too small.  Cores cut sums off, so the sum of DEPTH terms,
// which is short, is added to the total in float32.  bfloat16 has float32's range, but its low
// numbers are lost for numbers below SMALL, and an infinity less itself is NaN: such results become
// NaN, and `finish` computes those from their definition.
// Matrices that have the cores' 16 bits in memory are neither rounded nor taken element by element:
// an instruction brings 16 x 16 of them to a warp, and turns them where that is wanted.
// What it removes: the FMA units' limit, and every pass over b but the one that is needed.
//
// a, b, out: see operands.h.  A_PIECE and B_PIECE: elements of a copy.  With several parts of `share`
// terms, or several NUMBERS, sums[parts][rows][columns] between the kernels.
// Grid: x over tiles of results, along a row of tiles first; y over parts.  Block: WARPS_R x WARPS_C
// warps.

#include "common/pipelines/pdl.h"
#include "gemm/gpu/slices.h"

// Stores two neighbouring results, or what a part has summed up for them, of `there` in the matrix.
__device__ __forceinline__ void store(void* out, int64 at, int there, float y0, float y1)
{
    if (gridDim.y > 1) {
        float* to = (float*)out + at;
        if (there > 0) to[0] = y0;
        if (there > 1) to[1] = y1;
    } else {
        result* to = (result*)out + at;
        if (there > 0) to[0] = RESULT(y0);
        if (there > 1) to[1] = RESULT(y1);
    }
}

__global__ __launch_bounds__(THREADS, BLOCKS) void mma(const given* a, const given* b,
                                                       void* __restrict__ out, int rows,
                                                       int inner, int columns, int share)
{
    extern __shared__ __align__(128) char shared[];
    GRIDDEPCONTROL_WAIT();
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, across = (columns + TILE_C - 1) / TILE_C;
    int row = warp / WARPS_C * WARP_R, column = warp % WARPS_C * WARP_C;
    int first_row = blockIdx.x / across * TILE_R, first_column = blockIdx.x % across * TILE_C;
    int begin = blockIdx.y * share, slices = (min(share, inner - begin) + SLICE - 1) / SLICE;
    given* stages = (given*)shared;
    struct sums sums;
    unsigned least = ~0u;
    UNROLL for (int e = 0; e < ROWS * COLUMNS * 4; e++)
        sums.of[e / (4 * COLUMNS)][e / 4 % COLUMNS][e % 4] = 0.0f;

    // The slice `s` is multiplied, and the one that comes STAGES - 1 later is started.
    ROLLED for (int s = 1 - STAGES; s < slices; s++) {
        if (s >= 0) await_stage();
        int later = s + STAGES - 1, start = begin + later * SLICE;
        given* next = stages + later % STAGES * STAGE_SIZE;
        if (later < slices) {
            start_tile(next, a, first_row, rows, start, inner, TILE_R, !TRANSPOSE_A, A_PIECE);
            start_tile(next + A_SIZE, b, first_column, columns, start, inner, TILE_C, TRANSPOSE_B,
                       B_PIECE);
        }
        end_copies();
        const given* stage = stages + (s + STAGES) % STAGES * STAGE_SIZE;
        if (s >= 0) multiply_slice(stage, stage + A_SIZE, row, column, &sums, &least);
    }

    bool sure = NUMBERS == 1 || !__any_sync(~0u, least < SMALL);
    int64 before = (int64)blockIdx.y * rows * columns;
    UNROLL for (int e = 0; e < ROWS * COLUMNS * 2; e++) {
        int r = e / (2 * COLUMNS), c = e / 2 % COLUMNS;
        int i = first_row + row + 16 * r + e % 2 * 8 + lane / 4;
        int j = first_column + column + 8 * c + lane % 4 * 2;
        float y0 = sums.of[r][c][e % 2 * 2], y1 = sums.of[r][c][e % 2 * 2 + 1];
        if (!sure) y0 = y1 = __int_as_float(0x7fffffff);
        if (i < rows) store(out, before + (int64)i * columns + j, columns - j, y0, y1);
    }
}

// Adds the parts' sums, and computes what is not finite from its definition.  Grid: x over the
// results.  (With one part, sums and results are the same array.)
__global__ __launch_bounds__(FINISH_THREADS) void mma_finish(
    const given* a, const given* b, const float* sums, result* out, int rows, int inner,
    int columns, int parts)
{
    GRIDDEPCONTROL_WAIT();
    int64 e = (int64)blockIdx.x * FINISH_THREADS + threadIdx.x, results = (int64)rows * columns;
    float sum = 0.0f;
    if (e < results) {
        for (int part = 0; part < parts; part++) sum += sums[part * results + e];
        out[e] = RESULT(sum);
    }
#if NUMBERS == 3
    unsigned left = __ballot_sync(~0u, sum - sum != 0.0f);
    ROLLED for (; left; left &= left - 1) {
        int lane = __ffs(left) - 1, of = threadIdx.x % 32;
        int i = __shfl_sync(~0u, (int)(e / columns), lane);
        int j = __shfl_sync(~0u, (int)(e % columns), lane);
        float total = 0.0f;
        for (int k = of; k < inner; k += 32)
            total += a[place_in_a(i, k, rows, inner)] * b[place_in_b(k, j, inner, columns)];
        UNROLL for (int apart = 1; apart < 32; apart *= 2)
            total += __shfl_xor_sync(~0u, total, apart);
        if (of == lane) out[e] = total;
    }
#endif
}
