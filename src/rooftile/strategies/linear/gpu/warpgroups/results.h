// How a tile's sums become results.

#pragma once

#include "common/formats.h"
#include "linear/gpu/linear.h"
#include "linear/gpu/warpgroups/weights.h"

// A lane's two neighbouring results of a row.
__device__ __forceinline__ void store(result* to, int output, float y0, float y1)
{
    if (output >= OUTPUTS) return;
#if OUTPUTS % 2 == 0
    *(result_2*)to = RESULT_2(y0, y1);
#else
    to[0] = RESULT(y0);
    if (output + 1 < OUTPUTS) to[1] = RESULT(y1);
#endif
}

// Bias and activation of a whole tile.  A lane holds, of every eight outputs, two of two images
// eight rows apart, from `first` and `output` on.
__device__ __forceinline__ void store_tile(float sum[TILE_O / 2], const float* bias, result* out,
                                           int64 first, int images, int output)
{
    UNROLL for (int e = 0; e < TILE_O / 2; e += 4) {
        int o = output + 2 * e;
        float shift[2];
        UNROLL for (int i = 0; i < 2; i++) shift[i] = o + i < OUTPUTS ? __ldg(bias + o + i) : 0.0f;
        UNROLL for (int i = 0; i < 4; i += 2) {
            int64 n = first + 4 * i;
            float y0 = sum[e + i], y1 = sum[e + i + 1];
            if (n < images)
                store(out + n * OUTPUTS + o, o, activate(y0 + shift[0]), activate(y1 + shift[1]));
        }
    }
}

#if PARTS > 1
// The sums of a part, of images from `first` on among the `images` that are computed in parts.
__device__ __forceinline__ void store_part(float sum[TILE_O / 2], float* partial, int64 first,
                                           int images, int output)
{
    UNROLL for (int e = 0; e < TILE_O / 2; e++) {
        int64 n = first + e / 2 % 2 * 8;
        int o = output + e / 4 * 8 + e % 2;
        if (n < images && o < OUTPUTS) partial[n * OUTPUTS + o] = sum[e];
    }
}
#endif

