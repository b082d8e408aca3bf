// Common parts of pool2d's texts: parameters, which a problem may have or not, and the end of a
// result.
//
// weights[POOL_HEIGHT][POOL_WIDTH] of a weighted sum, bias[CHANNELS] where BIASED.

#pragma once

#include "common/fused.h"

#if POOL_KIND == 3
#define WEIGHTS_ARGUMENT const GLOBAL float* __restrict__ weights,
// The term of a window's element (a, b).
#define TERM(value, a, b) ((value) * weights[(a) * POOL_WIDTH + (b)])
#else
#define WEIGHTS_ARGUMENT
#define TERM(value, a, b) (value)
#endif

#if BIASED
#define BIAS_ARGUMENT const GLOBAL float* __restrict__ bias,
#define SHIFT(channel) bias[channel]
#else
#define BIAS_ARGUMENT
#define SHIFT(channel) 0.0f
#endif

// A result of a channel whose bias is `shift`.
__device__ __forceinline__ float finished(float pooled, float shift)
{
    float y = POOLED(pooled);
    return activated(POOL_ACTIVATION, BIASED ? y + shift : y);
}
