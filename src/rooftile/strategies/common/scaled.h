// Splits float32 in two numbers of scaled float16, x = high + low / LOW_SCALE.
//
// float16 holds as many bits as TF32, and the cores multiply it at twice the rate.  What it lacks
// is range.  So what is multiplied together is scaled by a power of two that brings its largest
// number below 2^(LARGEST + 1), and results are scaled back.  The split of a number below LEAST
// misses more than that of others, up to 2^-50 of the largest.  Where there is such a number,
// results below LEAST_RESULT become NaN, for a text to compute from their definition.

#pragma once

#include "common/narrow.h"

// An input is not rounded before it is split.
#undef VALUE
#define VALUE(x) (x)

// The range of some numbers: the bits of their largest finite magnitude, and the bits just before
// the least magnitude that is not zero.
struct range { unsigned most, before; };

__device__ __forceinline__ void join(struct range* range, unsigned most, unsigned before)
{
    range->most = most > range->most ? most : range->most;
    range->before = before < range->before ? before : range->before;
}

// Adds a number, given by its bits, to a range.  (Zero less one wraps round, so zero counts as
// large.)
__device__ __forceinline__ void widen(struct range* range, unsigned bits)
{
    unsigned magnitude = bits & 0x7fffffff;
    join(range, magnitude < 0x7f800000 ? magnitude : 0, magnitude - 1);
}

// 2^exponent, where that is a normal number.
__device__ __forceinline__ float power(int exponent)
{
    return __int_as_float((exponent + 127) << 23);
}

// The exponent of the scale that brings the largest number to LARGEST.
__device__ __forceinline__ int scale_of(struct range range)
{
    // Smaller ones would want a scale beyond float32's range.
    int exponent = (int)(range.most >> 23) <= LARGEST ? LARGEST + 1 : range.most >> 23;
    return 127 + LARGEST - exponent;
}

// The least size of a sure result. A result of zero has a floor of its own: zero may be the rest of
// small inputs.
struct floors { float zero, other; };

__device__ __forceinline__ struct floors floors_of(struct range range, float of_weights)
{
    float least = __uint_as_float(range.before + 1) * power(scale_of(range));
    bool small = least != 0.0f && least < LEAST;
    struct floors floors = {small ? LEAST_RESULT : 0.0f, small ? LEAST_RESULT : of_weights};
    return floors;
}

// Scales a sum back by two factors: each is a normal number, and only the second product may round.
__device__ __forceinline__ float scaled_back(float value, int exponent, struct floors least)
{
    if (fabsf(value) < (value == 0.0f ? least.zero : least.other))
        value = __int_as_float(0x7fffffff);
    return value * power(exponent / 2) * power(exponent - exponent / 2);
}

// The low number: what float16 has left of a number, scaled to the size that it holds best.
__device__ __forceinline__ float low(float value, float high) { return (value - high) * LOW_SCALE; }

// The low numbers of two, of which the high ones are a pair.
__device__ __forceinline__ pair low_pair(float x, float y, pair high)
{
    return pack(low(x, widened((narrow)(high & 0xffff))), low(y, widened((narrow)(high >> 16))));
}
