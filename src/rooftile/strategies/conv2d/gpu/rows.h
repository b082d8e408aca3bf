// What the rungs share whose threads slide a window of four columns along a row.
//
// A thread has SPAN columns of the convolution, in WINDOWS windows; it reads LINE columns of the
// image for them, and they give POOLED_SPAN results of a row.

#pragma once

#include "conv2d/gpu/conv2d.h"

#define WINDOWS (SPAN / 4)
#define LINE (SPAN + MASK_WIDTH - 1)
#define POOLED_SPAN (SPAN / POOL_WIDTH)

// One tap of four neighbouring columns.
__device__ __forceinline__ float4 add_product(float4 sum, float tap, float4 window)
{
    return make_float4(sum.x + tap * window.x, sum.y + tap * window.y, sum.z + tap * window.z,
                       sum.w + tap * window.w);
}

// Adds window `w` of a row of the convolution to a row of pooled results.
__device__ __forceinline__ void pool_columns(float* pooled, int w, float4 sum)
{
    float y[4] = {activate(sum.x), activate(sum.y), activate(sum.z), activate(sum.w)};
    UNROLL for (int j = 0; j < 4; j++) {
        int at = w * 4 / POOL_WIDTH + j / POOL_WIDTH;
        pooled[at] = POOL_WITH(pooled[at], y[j]);
    }
}
