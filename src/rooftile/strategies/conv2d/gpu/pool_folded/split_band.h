// Bands of float32 that are split in two numbers of scaled float16 where they lie, and what becomes
// of sums of split products; see `common/scaled.h`, and `split.h` for the weights.

#pragma once

#include "common/scaled.h"
#include "common/warp_range.h"
#include "conv2d/gpu/pool_folded/pooled.h"
#include "conv2d/gpu/pool_folded/split.h"

// Two rows of a patch for a lane's two windows, as an instruction takes them.
struct slab { pair high[4], low[4]; };

__device__ __forceinline__ float tap(const float* weights, int map, int c, int p, int q)
{
    return weights[FOLDED + 4 * MAP_GROUPS + 1 +
                   ((map * CHANNELS + c) * MASK_HEIGHT + p) * MASK_WIDTH + q];
}

// The range of a band's numbers.
__device__ __forceinline__ struct range range_of(const float* tile)
{
    __shared__ struct range ranges[WARPS];
    struct range range = {0, ~0u};
    for (int e = MEMBER; e < BAND_SIZE / 4; e += TEAM) {
        uint4 four = ((const uint4*)tile)[e];
        widen(&range, four.x), widen(&range, four.y), widen(&range, four.z), widen(&range, four.w);
    }
    range = of_warp(range);
    if (threadIdx.x % 32 == 0) ranges[threadIdx.x / 32] = range;
    meet();
    const int first = threadIdx.x / TEAM * (TEAM / 32);
    UNROLL for (int e = 0; e < TEAM / 32; e++)
        join(&range, ranges[first + e].most, ranges[first + e].before);
    return range;
}

// Clears the rows that the image's last band lacks, where split numbers of the band before lie.
__device__ __forceinline__ void clear_rest(float* tile, int band)
{
    int rows = HEIGHT - band % BANDS * BAND_STRIDE;
    if ((BANDS - 1) * BAND_STRIDE + TILE_ROWS <= HEIGHT || rows >= TILE_ROWS) return;
    const int first = (rows * WIDTH + PIECE - 1) / PIECE * PIECE;
    for (int e = MEMBER; e < BAND_SIZE; e += TEAM)
        if (e % TILE_SIZE >= first) tile[e] = 0.0f;
}

// Splits a band where it lies: of each two neighbours first the high numbers, then the low ones.
__device__ __forceinline__ void split(float* tile, float scale)
{
    for (int e = MEMBER; e < BAND_SIZE / 4; e += TEAM) {
        float4 four = ((const float4*)tile)[e];
        float x = four.x * scale, y = four.y * scale, z = four.z * scale, w = four.w * scale;
        float a = widened(NARROW(x)), b = widened(NARROW(y));
        float c = widened(NARROW(z)), d = widened(NARROW(w));
        ((uint4*)tile)[e] = make_uint4(pack(a, b), pack(low(x, a), low(y, b)),
                                       pack(c, d), pack(low(z, c), low(w, d)));
    }
}

// The pool over a fold's window, scaled back by 2^exponent.
__device__ __forceinline__ struct pooled four_scaled_back(float sum[8], int half, float shift,
                                                          int exponent, struct floors least)
{
    if (POOL_AVERAGE)
        UNROLL for (int row = 0; row < 2; row++)
            UNROLL for (int column = 0; column < 2; column++) {
                float* z = sum + 4 * row + 2 * half + column;
                *z = scaled_back(*z, exponent, least);
            }
    // The largest is the largest at any scale.
    struct pooled four = of_four(sum, half, shift);
    if (!POOL_AVERAGE) four.sum = scaled_back(four.sum, exponent, least);
    return four;
}
