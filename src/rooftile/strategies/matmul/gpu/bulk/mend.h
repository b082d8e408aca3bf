// Scales sums of split numbers back, and computes those in doubt anew.

#pragma once

#include "common/scaled_numbers.h"
#include "matmul/gpu/bulk/results.h"

// The place of a lane's sum `e` in out.
struct place { int i, j; };

__device__ __forceinline__ struct place place_of_sum(struct work work, int e)
{
    int left = work.row + row_of_lane() + DOWN(e);
    int right = work.column + threadIdx.x % 4 * 2 + COLUMN_OF(e);
    struct place place = {SWAPPED ? right : left, SWAPPED ? left : right};
    return place;
}

// A sum scaled back by its row's unit and its column's, or NaN where it is in doubt: where what
// small numbers miss, up to 2^-36, times the largest that they meet, 2^15, may reach a unit of its
// last place.  Small numbers that meet zeros alone miss nothing.
__device__ __forceinline__ float scaled_back(float sum, struct row_scale row, struct row_scale column)
{
    float small = (column.unit == 0.0f ? 0.0f : row.small) + (row.unit == 0.0f ? 0.0f : column.small);
    if (!(fabsf(sum) >= 8.0f * small)) return __int_as_float(0x7fffffff);
    // The smaller unit comes first: so nothing overflows that the product does not.
    return finite(sum) * 0x1p-28f * fminf(row.unit, column.unit) * fmaxf(row.unit, column.unit);
}

// The ranges of a warpgroup's rows of a tile, and of its columns.
struct row_scales { struct row_scale rows[64], columns[TILE_C]; };

// The threads of a warpgroup meet.
__device__ __forceinline__ void meet_group()
{
    asm volatile("bar.sync %0, %1;" ::"r"(threadIdx.x / 128), "n"(128) : "memory");
}

__device__ __forceinline__ void copy_span(struct row_scale* to, const struct row_scale* from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(8)
                 : "memory");
}

// Asks for scales, which come to shared memory while the warpgroup multiplies.
__device__ __forceinline__ void ask_for_spans(struct row_scales* row_scales, const struct row_scale* of_a,
                                              const struct row_scale* of_b, struct work work, int rows,
                                              int columns)
{
    int thread = threadIdx.x % 128, first = work.row + (threadIdx.x / 128 - 1) * 64;
    const struct row_scale *of_rows = SWAPPED ? of_b : of_a, *of_columns = SWAPPED ? of_a : of_b;
    int most = SWAPPED ? columns : rows, most_across = SWAPPED ? rows : columns;
    // The ranges of the tile before have been read.
    meet_group();
    // Results beyond the last have no scales of their own; they are not stored.
    if (thread < 64) copy_span(row_scales->rows + thread, of_rows + min(first + thread, most - 1));
    if (thread < TILE_C)
        copy_span(row_scales->columns + thread, of_columns + min(work.column + thread, most_across - 1));
}

__device__ __forceinline__ void await_spans()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
    meet_group();
}

__device__ __forceinline__ void scale_back(float sum[SUMS], const struct row_scales* row_scales)
{
    int row = row_of_lane() - (threadIdx.x / 128 - 1) * 64, column = threadIdx.x % 4 * 2;
    struct row_scale two[2] = {row_scales->rows[row], row_scales->rows[row + NEXT_ROW]};
    UNROLL for (int e = 0; e < SUMS; e++)
        sum[e] = scaled_back(sum[e], two[e / 2 % 2], row_scales->columns[column + COLUMN_OF(e)]);
}

// Computes results from their definition.  Each lane brings one that is in doubt, or none; all
// lanes of the warp compute it together.
__device__ __forceinline__ void mend(const float* a, const float* b, float* out, struct place place,
                                     int rows, int inner, int columns, bool doubtful)
{
    int lane = threadIdx.x % 32;
    for (unsigned left = __ballot_sync(~0u, doubtful); left; left &= left - 1) {
        int of = __ffs(left) - 1;
        int i = __shfl_sync(~0u, place.i, of), j = __shfl_sync(~0u, place.j, of);
        float sum = 0.0f;
        UNROLL_BY(8) for (int k = lane; k < inner; k += 32)
            sum = fmaf(a[place_in_a(i, k, rows, inner)], b[place_in_b(k, j, inner, columns)], sum);
        UNROLL for (int apart = 1; apart < 32; apart *= 2) sum += __shfl_xor_sync(~0u, sum, apart);
        if (lane == of) out[(int64)i * columns + j] = sum;
    }
}

// Computes the tile's results that are NaN anew.
__device__ __forceinline__ void mend_tile(const float sum[SUMS], const float* a, const float* b,
                                          float* out, struct work work, int rows, int inner,
                                          int columns)
{
    const int words = (SUMS + 31) / 32;
    unsigned doubtful[words];
    UNROLL for (int word = 0; word < words; word++) doubtful[word] = 0;
    UNROLL for (int e = 0; e < SUMS; e++) {
        struct place place = place_of_sum(work, e);
        if (sum[e] != sum[e] && place.i < rows && place.j < columns)
            doubtful[e / 32] |= 1u << e % 32;
    }
    UNROLL for (int word = 0; word < words; word++) {
        unsigned left = __reduce_or_sync(~0u, doubtful[word]);
        ROLLED for (; left; left &= left - 1) {
            int at = __ffs(left) - 1;
            mend(a, b, out, place_of_sum(work, 32 * word + at), rows, inner, columns,
                 doubtful[word] >> at & 1);
        }
    }
}
