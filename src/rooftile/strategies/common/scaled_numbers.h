// Scales for numbers of float32 that are split in two of float16, x = high + low.
//
// A group of numbers is scaled by the power of two that brings its largest to 2^14.  Those far below
// the largest are called small: their low numbers miss up to 2^-25.

#pragma once

#include "common/narrow.h"

// 2^exponent over a power of two.
__device__ __forceinline__ float over(int exponent, float power)
{
    return __uint_as_float(((254u + exponent) << 23) - __float_as_uint(power));
}

// The scale of numbers of which the largest is `most`.  It is that of 2^-73 at most: what undoes a
// larger one would be too small for float32.
__device__ __forceinline__ float scale_to(float most)
{
    return over(14, __uint_as_float(max(__float_as_uint(most) & 0x7f800000u, 54u << 23)));
}

// Numbers below this are small.  Of all others the split misses no more than of the largest.
__device__ __forceinline__ float small_below(float scale) { return over(-2, scale); }

__device__ __forceinline__ bool is_small(float value, float scale)
{
    return value != 0.0f && fabsf(value) < small_below(scale);
}

// A group's range: the power of two of its largest number, and the number of small ones.
struct row_scale { float unit, small; };

// Infinities become NaN.
__device__ __forceinline__ float finite(float sum) { return fmaf(0.0f, sum, sum); }
