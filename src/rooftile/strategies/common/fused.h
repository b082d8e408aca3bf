// Fused parts of operations, by macros of the problem, where it has them:
//   ACTIVATION (a code of activations.h)
//   POOL_KIND (0 maximum, 1 average, 2 L2 norm, 3 sum of weighted elements)
// POOL_HEIGHT POOL_WIDTH, POOL_ACTIVATION (of the pool's result)

#pragma once

#include "common/activations.h"

#ifdef ACTIVATION
__device__ __forceinline__ float activate(float z) { return activated(ACTIVATION, z); }
#endif

// The root of the sum of two squares, also of numbers whose squares overflow or vanish.
__device__ __forceinline__ float norm_of_two(float a, float b)
{
    const float high = 1.2676506e30f, low = 7.8886091e-31f;  // 2^100 and 2^-100
    float sum = a * a + b * b;
    // Above, no square that counts is subnormal; an infinity or NaN is found again below.
    if (sum > low && sum < INFINITY) return sqrtf(sum);
    float scale = sum > low ? low : high;
    float y = a * scale, z = b * scale;
    return sqrtf(y * y + z * z) * (sum > low ? high : low);
}

#define POOL_AVERAGE (POOL_KIND == 1)

// The pool's running value: before its first element, with that alone, with one more, and at its
// end, without and with what comes behind the pool.
#if POOL_KIND == 0
#define POOL_START (-INFINITY)
#define POOL_FIRST(y) (y)
#define POOL_WITH(pooled, y) maximum(pooled, y)
#define POOLED(pooled) (pooled)
#elif POOL_KIND == 2
#define POOL_START 0.0f
#define POOL_FIRST(y) fabsf(y)
#define POOL_WITH(pooled, y) norm_of_two(pooled, y)
#define POOLED(pooled) (pooled)
#else
#define POOL_START 0.0f
#define POOL_FIRST(y) (y)
#define POOL_WITH(pooled, y) ((pooled) + (y))
#define POOLED(pooled) (POOL_AVERAGE ? (pooled) / (float)(POOL_HEIGHT * POOL_WIDTH) : (pooled))
#endif
#define POOL_END(pooled) activated(POOL_ACTIVATION, POOLED(pooled))
