// The epilogue of a tile's sums.

#pragma once

#include "common/pipelines/wgmma.h"
#include "gemm/gpu/warpgroups/weights.h"

// The epilogue is long. It is unrolled for a strip of a tile's columns, of which a lane has these
// sums, and the next strip's then replace them: so it takes half the time to compile, and less to
// run.
#define SUMS_AT_ONCE (TILE_O > 32 ? 16 : TILE_O / 2)

// Brings the sums of the next strip to the front.
__device__ __forceinline__ void next_strip(float sum[TILE_O / 2])
{
    UNROLL for (int next = SUMS_AT_ONCE; next < TILE_O / 2; next++) sum[next - SUMS_AT_ONCE] = sum[next];
}

// Bias and activation of a strip, whose images of a lane begin at `first`, its outputs at `output`;
// ROW_OF and COLUMN_OF say where its sums lie.
__device__ __forceinline__ void store_strip(float sum[SUMS_AT_ONCE], const float* bias, result* out,
                                           int64 first, int images, int output)
{
    UNROLL for (int e = 0; e < SUMS_AT_ONCE; e += 4) {
        int o = output + 2 * e;
        float shift[2];
        UNROLL for (int i = 0; i < 2; i++) shift[i] = o + i < OUTPUTS ? BIAS(__ldg(bias + o + i)) : 0.0f;
        UNROLL for (int i = 0; i < 4; i += 2) {
            int64 n = first + 4 * i;
            float y0 = sum[e + i], y1 = sum[e + i + 1];
            if (n < images)
                store_two(out + n * OUTPUTS + o, o, activate(y0 + shift[0]),
                          activate(y1 + shift[1]));
        }
    }
}

#if PARTS > 1
// Stores what a part has summed up of a strip, of images from `first` on among the `images` that have parts.
__device__ __forceinline__ void store_part(float sum[SUMS_AT_ONCE], float* partial, int64 first,
                                           int images, int output)
{
    UNROLL for (int e = 0; e < SUMS_AT_ONCE; e++) {
        int64 n = first + ROW_OF(e);
        int o = output + COLUMN_OF(e);
        if (n < images && o < OUTPUTS) partial[n * OUTPUTS + o] = sum[e];
    }
}
#endif

