// Bands of float32 that are scaled before they are multiplied in float16: their range, and what
// becomes of sums of scaled products; see `common/scaled.h`.

#pragma once

#include "common/scaled.h"
#include "common/warp_range.h"
#include "conv2d/gpu/pool_folded/pooled.h"

// The range of some of a band's numbers, one thread's of a team. Of infinities, which are few, it
// is found again, number by number.
__device__ __forceinline__ struct range own_range(const float* tile, bool finite)
{
    struct range range = {0, ~0u};
    float most = 0.0f;
    for (int e = MEMBER; e < BAND_SIZE / 4; e += TEAM) {
        float4 four = ((const float4*)tile)[e];
        const float numbers[4] = {four.x, four.y, four.z, four.w};
        UNROLL for (int k = 0; k < 4; k++) {
            unsigned bits = __float_as_uint(numbers[k]);
            if (finite)
                most = fmaxf(most, fabsf(numbers[k])), join(&range, 0, 2 * bits - 1);
            else
                widen(&range, bits);
        }
    }
    // (Zeros alone stay beyond all numbers.)
    if (finite) range.most = __float_as_uint(most), range.before /= 2;
    return range;
}

// Joins the ranges of a team's threads.
__device__ __forceinline__ struct range of_team(struct range range)
{
    __shared__ struct range ranges[WARPS];
    range = of_warp(range);
    if (threadIdx.x % 32 == 0) ranges[threadIdx.x / 32] = range;
    meet();
    const int first = threadIdx.x / TEAM * (TEAM / 32);
    UNROLL for (int e = 0; e < TEAM / 32; e++)
        join(&range, ranges[first + e].most, ranges[first + e].before);
    return range;
}

// The range of a band's numbers.
__device__ __forceinline__ struct range range_of(const float* tile)
{
    struct range range = of_team(own_range(tile, true));
    // A team's threads agree.
    if (range.most < 0x7f800000) return range;
    meet();
    return of_team(own_range(tile, false));
}

// Clears the rows that the image's last band lacks, over the rows of the band before.
__device__ __forceinline__ void clear_rest(float* tile, int band)
{
    int rows = HEIGHT - band % BANDS * BAND_STRIDE;
    if ((BANDS - 1) * BAND_STRIDE + TILE_ROWS <= HEIGHT || rows >= TILE_ROWS) return;
    const int first = (rows * WIDTH + PIECE - 1) / PIECE * PIECE;
    for (int e = MEMBER; e < BAND_SIZE; e += TEAM)
        if (e % TILE_SIZE >= first) tile[e] = 0.0f;
}

// As `of_four`, of sums that are 2^exponent times too small: an average's are scaled back.
__device__ __forceinline__ struct pooled of_scaled_four(float sum[8], int half, float shift,
                                                        int exponent, struct floors least)
{
    if (POOL_AVERAGE)
        UNROLL for (int row = 0; row < 2; row++)
            UNROLL for (int column = 0; column < 4 / HALVES; column++) {
                float* z = sum + 4 * row + 2 * half + column;
                *z = scaled_back(*z, exponent, least);
            }
    return of_four(sum, half, shift);
}

// As `whole_window`, of such sums: the largest is the largest at any scale.
__device__ __forceinline__ struct pooled whole_scaled_window(struct pooled most, int exponent,
                                                             struct floors least)
{
    struct pooled all = whole_window(most);
    if (!POOL_AVERAGE) all.sum = scaled_back(all.sum, exponent, least);
    return all;
}

// As `pool_step`, of such sums.
__device__ __forceinline__ bool pool_scaled_step(struct pooled fold, struct pooled* most,
                                                 float shift, int exponent, struct floors least,
                                                 int step, int start, int half,
                                                 result* place WHERE_ARGUMENT, int map,
                                                 int window, int top)
{
    return add_fold(fold, most, step, window) &&
           store_window(whole_scaled_window(*most, exponent, least), shift, step, start, half,
                        place WHERE(0), map, window, top);
}
