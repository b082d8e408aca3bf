// Bands of float32 that are split in two numbers of scaled float16 where they lie; see `split.h` for
// the weights.

#pragma once

#include "conv2d/gpu/pool_folded/scaled_band.h"
#include "conv2d/gpu/pool_folded/split.h"

// Two rows of a patch for a lane's two windows, as an instruction takes them.
struct slab { pair high[4], low[4]; };

__device__ __forceinline__ float tap(const float* weights, int map, int c, int p, int q)
{
    return weights[FOLDED + 4 * MAP_GROUPS + 1 +
                   ((map * CHANNELS + c) * MASK_HEIGHT + p) * MASK_WIDTH + q];
}

// Splits a band in place: of each two neighbours first the high numbers, then the low ones.
__device__ __forceinline__ void split(float* tile, float scale)
{
    for (int e = MEMBER; e < BAND_SIZE / 4; e += TEAM) {
        float4 four = ((const float4*)tile)[e];
        float x = four.x * scale, y = four.y * scale, z = four.z * scale, w = four.w * scale;
        pair xy = pack(x, y), zw = pack(z, w);
        ((uint4*)tile)[e] = make_uint4(xy, low_pair(x, y, xy), zw, low_pair(z, w, zw));
    }
}
