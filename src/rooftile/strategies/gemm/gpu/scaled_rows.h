// Splits float32 in two numbers of float16, x = high + low: rows of x, and of weights.
//
// The cores multiply float16 at twice the rate of TF32, which holds as many bits.  What float16
// lacks is range.  So a slice of a row of x is scaled by the power of two that brings its largest
// number to 2^14, in the registers where it is split, and an output's weights likewise.  The sum of
// a slice is scaled back where it is added.  Numbers far below the largest are called small: their
// low numbers miss up to 2^-25.  They are counted, and results that they could change become NaN,
// for a text to compute from their definition.

#pragma once

#include "common/scaled_numbers.h"
#include "gemm/gpu/epilogue.h"

#ifndef WEIGHTS_BY_INPUT
#define WEIGHTS_BY_INPUT 0
#endif
// Products of matrices may be turned: TURNED gives out[OUTPUTS][IMAGES].
#ifndef TURNED
#define TURNED 0
#endif
#ifndef X_ACROSS
#define X_ACROSS 0
#endif

// The address of an image's result.
__device__ __forceinline__ size_t place_of_result(int n, int output)
{
#if TURNED
    return (size_t)output * IMAGES + n;
#else
    return (size_t)n * OUTPUTS + output;
#endif
}

// The range of a row of x: its largest number, and a sum over its small ones, each counted as its
// slice's unit of 2^-14.
struct row { float most, small; };

// The scale of a slice of a row, of which each of four lanes has eight numbers.
__device__ __forceinline__ float scale_of(const float x[8], struct row* row)
{
    // Numbers are compared by their bits.  Less the least of all numbers, zero becomes negative,
    // which is the largest as unsigned.
    const float least_of_all = __uint_as_float(1);
    int most = 0;
    unsigned least = ~0u;
    UNROLL for (int e = 0; e < 8; e++) {
        int bits = __float_as_int(fabsf(x[e]) - least_of_all);
        most = max(most, bits);
        least = min(least, (unsigned)bits);
    }
    UNROLL for (int apart = 1; apart < 4; apart *= 2)
        most = max(most, __shfl_xor_sync(~0u, most, apart));
    float scale = scale_to(__int_as_float(most));
    row->most = fmaxf(row->most, __int_as_float(most));
    if (least < __float_as_uint(small_below(scale)))
        UNROLL for (int e = 0; e < 8; e++)
            row->small += is_small(x[e], scale) ? over(-14, scale) : 0.0f;
    return scale;
}

// Splits eight numbers; both results are pairs of neighbours.
__device__ __forceinline__ void split_row(const float x[8], float scale, pair high[4], pair low[4])
{
    UNROLL for (int e = 0; e < 4; e++) {
        float a = x[2 * e], b = x[2 * e + 1];
        high[e] = pack(a * scale, b * scale);
        low[e] = pack(fmaf(a, scale, -widened(high[e])), fmaf(b, scale, -widened(high[e] >> 16)));
    }
}

// Joins what four lanes know of their row.
__device__ __forceinline__ struct row whole_row(struct row row)
{
    UNROLL for (int apart = 1; apart < 4; apart *= 2)
        row.small += __shfl_xor_sync(~0u, row.small, apart);
    return row;
}

// Finds the scale of each output's weights.  Grid: a warp an output.
__global__ __launch_bounds__(PACK_THREADS) void KERNEL(measure_weights)(
    const float* __restrict__ weights, struct row_scale* __restrict__ row_scales)
{
    int output = (blockIdx.x * PACK_THREADS + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (output >= OUTPUTS) return;
    weights += (size_t)output * INPUTS;
    float most = 0.0f;
    UNROLL_BY(8) for (int k = lane; k < INPUTS; k += 32)
        most = fmaxf(most, fabsf(weights[k]));
    UNROLL for (int apart = 1; apart < 32; apart *= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, apart));
    float scale = scale_to(most);
    struct row_scale row_scale = {most == 0.0f ? 0.0f : over(14, scale), 0.0f};
    UNROLL_BY(8) for (int k = lane; k < INPUTS; k += 32)
        row_scale.small += is_small(weights[k], scale) ? 1.0f : 0.0f;
    UNROLL for (int apart = 1; apart < 32; apart *= 2)
        row_scale.small += __shfl_xor_sync(~0u, row_scale.small, apart);
    if (lane == 0) row_scales[output] = row_scale;
}

// Splits a weight into two numbers, `apart` elements from each other.
__device__ __forceinline__ void split_weight(float weight, struct row_scale row_scale, narrow* to, int apart)
{
    weight *= scale_to(row_scale.unit);
    to[0] = NARROW(weight);
    to[apart] = NARROW(weight - widened(to[0]));
}

// A row's small numbers times the largest weight, and its largest number times a small weight: what
// these miss is a unit in the last place of so much.
__device__ __forceinline__ float missed_of_row(struct row row) { return 0x1p14f * row.small; }
__device__ __forceinline__ float missed_of_weight(struct row row) { return 0x1p-15f * row.most; }

// A sum scaled back by its weights' unit, or NaN where it is in doubt: where what small numbers
// miss, times the largest that they meet, may reach a unit of its last place.
__device__ __forceinline__ float scaled_back(float sum, struct row row, struct row_scale row_scale)
{
    float least = row_scale.unit == 0.0f ? 0.0f : missed_of_row(row);
    least = fmaf(missed_of_weight(row), row_scale.small, least);
    return fabsf(sum) >= least ? finite(sum) * row_scale.unit : __int_as_float(0x7fffffff);
}

// The first of an output's weights, and four of them: weights[OUTPUTS][INPUTS] or, with
// WEIGHTS_BY_INPUT, weights[INPUTS][OUTPUTS].
__device__ __forceinline__ const float* weights_of(const float* weights, int output)
{
    return weights + (WEIGHTS_BY_INPUT ? output : (size_t)output * INPUTS);
}
__device__ __forceinline__ float4 four_weights(const float* with, int k)
{
#if WEIGHTS_BY_INPUT
    float four[4];
    UNROLL for (int e = 0; e < 4; e++)
        four[e] = k + e < INPUTS ? with[(size_t)(k + e) * OUTPUTS] : 0.0f;
    return make_float4(four[0], four[1], four[2], four[3]);
#else
    return four_inputs(with, k);
#endif
}

// The first number of a row of x, and four of its numbers.
__device__ __forceinline__ const float* row_of(const float* x, int n)
{
    return x + (X_ACROSS ? n : (size_t)n * INPUTS);
}
__device__ __forceinline__ float4 four_of_row(const float* row, int k)
{
#if X_ACROSS
    float four[4];
    UNROLL for (int e = 0; e < 4; e++)
        four[e] = k + e < INPUTS ? row[(size_t)(k + e) * IMAGES] : 0.0f;
    return make_float4(four[0], four[1], four[2], four[3]);
#else
    return four_inputs(row, k);
#endif
}

// Computes results from their definition.  Each lane brings one that is in doubt, or none; all
// lanes of the warp compute it together.
__device__ __forceinline__ void mend(const float* x, const float* weights, const float* bias,
                                     float* out, int n, int output, bool doubtful)
{
    unsigned left = __ballot_sync(~0u, doubtful);
    for (; left; left &= left - 1) {
        int lane = __ffs(left) - 1;
        const float* row = row_of(x, __shfl_sync(~0u, n, lane));
        const float* with = weights_of(weights, __shfl_sync(~0u, output, lane));
        float sum = 0.0f;
        UNROLL_BY(8) for (int k = threadIdx.x % 32 * 4; k < INPUTS; k += 128) {
            float4 a = four_of_row(row, k), b = four_weights(with, k);
            sum += a.x * b.x + a.y * b.y + (a.z * b.z + a.w * b.w);
        }
        UNROLL for (int apart = 1; apart < 32; apart *= 2) sum += __shfl_xor_sync(~0u, sum, apart);
        if (threadIdx.x % 32 == lane)
            out[place_of_result(n, output)] = activate(sum + BIAS(bias[output]));
    }
}
