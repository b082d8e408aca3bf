// float32 as two parts of scaled float16, x = hi + lo / LOW_SCALE.
//
// Parts of float16 hold as many bits as TF32's, and the cores multiply them at twice the rate.
// What they lack is range: what is multiplied together is scaled by a power of two that brings its
// largest number below 2^(LARGEST + 1), and results are scaled back.  Of a number below LEAST the
// parts hold less, though never 2^-50 of the largest less: where there is any, results below
// LEAST_RESULT become NaN, for a text to compute from their definition.

#pragma once

#include "common/narrow.h"

// An input is what it is: only its parts are rounded.
#undef VALUE
#define VALUE(x) (x)

// Bits of the largest finite magnitude, and those before the least that is not zero.
struct range { unsigned most, before; };

__device__ __forceinline__ void join(struct range* range, unsigned most, unsigned before)
{
    range->most = most > range->most ? most : range->most;
    range->before = before < range->before ? before : range->before;
}

// A number by its bits.  Nothing comes before zero, which is none that is small.
__device__ __forceinline__ void widen(struct range* range, unsigned bits)
{
    unsigned magnitude = bits & 0x7fffffff;
    join(range, magnitude < 0x7f800000 ? magnitude : 0, magnitude - 1);
}

__device__ __forceinline__ struct range of_warp(struct range range)
{
    struct range all = {__reduce_max_sync(~0u, range.most), __reduce_min_sync(~0u, range.before)};
    return all;
}

// 2^exponent, for exponents of normal numbers.
__device__ __forceinline__ float power(int exponent)
{
    return __int_as_float((exponent + 127) << 23);
}

// The exponent that brings the largest to LARGEST.
__device__ __forceinline__ int scale_of(struct range range)
{
    // Smaller ones would want a scale beyond float32's range.
    int exponent = (int)(range.most >> 23) <= LARGEST ? LARGEST + 1 : range.most >> 23;
    return 127 + LARGEST - exponent;
}

// What a result must be at least: nothing may be all that is left of small inputs.
struct floors { float zero, other; };

__device__ __forceinline__ struct floors floors_of(struct range range, float of_weights)
{
    float least = __uint_as_float(range.before + 1) * power(scale_of(range));
    bool small = least != 0.0f && least < LEAST;
    struct floors floors = {small ? LEAST_RESULT : 0.0f, small ? LEAST_RESULT : of_weights};
    return floors;
}

// In two steps: each factor is a normal number, and only the second product may round.
__device__ __forceinline__ float scaled_back(float value, int exponent, struct floors least)
{
    if (fabsf(value) < (value == 0.0f ? least.zero : least.other))
        value = __int_as_float(0x7fffffff);
    return value * power(exponent / 2) * power(exponent - exponent / 2);
}

// What float16 leaves of a number, as large as it holds best.
__device__ __forceinline__ float low(float value, float high) { return (value - high) * LOW_SCALE; }
