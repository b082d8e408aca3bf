// Products of TF32 by float16's instructions, which take half as long: both have 11 significant bits.
//
// x is stored in float16. Weights, whose range float16 lacks, are scaled by a power of two, each
// map's by one that brings its largest to 2^14, and sums are scaled back. A weight is small where
// float16 has not all of its bits: it loses up to 2^-25. Where a map has such weights, sums below
// LEAST_RESULT become NaN, and are computed from their definition.
//
// weights[MAP_GROUPS][FOLDED] in float, and the given
// weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH] behind them; scaled[MAP_GROUPS][FOLDED] in
// float16, and behind them scales[4 MAP_GROUPS], of each map the factor that scales sums back and
// the least sure result, and the given weights in TF32.

#pragma once

#include "common/scaled_numbers.h"
#include "common/tf32.h"

// Folded weights of a group of maps, where warps multiply by themselves.
#define FOLDED (SLABS * 256)
#define LEAST_NORMAL 0x1p-14f

struct scale { float back, least; };

__device__ __forceinline__ const struct scale* scales_of(const element* weights)
{
    return (const struct scale*)(weights + MAP_GROUPS * FOLDED);
}

__device__ __forceinline__ float tap(const element* weights, int map, int c, int p, int q)
{
    const float* given = (const float*)(scales_of(weights) + 4 * MAP_GROUPS);
    return given[((map * CHANNELS + c) * MASK_HEIGHT + p) * MASK_WIDTH + q];
}

#define SCALE_ARGUMENT , const struct scale scale
#define SCALE , scale
#define GIVEN_SCALE const struct scale scale = scales_of(weights)[map]
#define SCALED_BACK(four) (four).sum = scaled_back((four).sum, scale)

// The value of a sum of scaled products.
__device__ __forceinline__ float scaled_back(float sum, struct scale scale)
{
    return fabsf(sum) < scale.least ? __int_as_float(0x7fffffff) : sum * scale.back;
}

// Finds the scale of a map's weights; a warp does.
__device__ __forceinline__ struct scale scale_of(const float* filter)
{
    // Bits of the largest finite magnitude, and of the least that is not zero, less one: zero becomes
    // the largest number so.
    unsigned most = 0, before = ~0u;
    for (int e = threadIdx.x % 32; e < FILTER_SIZE; e += 32) {
        unsigned magnitude = __float_as_uint(filter[e]) & 0x7fffffff;
        if (magnitude < 0x7f800000) most = max(most, magnitude);
        before = min(before, magnitude - 1);
    }
    UNROLL for (int apart = 1; apart < 32; apart *= 2) {
        most = max(most, __shfl_xor_sync(~0u, most, apart));
        before = min(before, __shfl_xor_sync(~0u, before, apart));
    }
    float up = scale_to(__uint_as_float(most));
    bool small = before != ~0u && __uint_as_float(before + 1) * up < LEAST_NORMAL;
    struct scale scale = {over(0, up), small ? LEAST_RESULT : 0.0f};
    return scale;
}

#define SCALERS 128

// Grid: a block a group of maps.  Block: a warp a map.
__global__ void KERNEL(scale_weights)(const float* weights, narrow* scaled)
{
    __shared__ float up[4];
    const float* filters = weights + MAP_GROUPS * FOLDED;
    int warp = threadIdx.x / 32, map = blockIdx.x * 4 + warp;
    struct scale* scales = (struct scale*)(scaled + MAP_GROUPS * FOLDED);
    float* given = (float*)(scales + 4 * MAP_GROUPS);
    GRIDDEPCONTROL_LAUNCH();
    GRIDDEPCONTROL_WAIT();
    // All that is read is asked for at once.
    float own[FOLDED / SCALERS];
    UNROLL for (int k = 0; k < FOLDED / SCALERS; k++)
        own[k] = weights[blockIdx.x * FOLDED + k * SCALERS + threadIdx.x];
    struct scale scale = {1.0f, 0.0f};
    if (map < MAPS) scale = scale_of(filters + map * FILTER_SIZE);
    if (threadIdx.x % 32 == 0) scales[map] = scale, up[warp] = over(0, scale.back);
    __syncthreads();
    UNROLL for (int k = 0; k < FOLDED / SCALERS; k++) {
        int e = k * SCALERS + threadIdx.x;
        scaled[blockIdx.x * FOLDED + e] = NARROW(own[k] * up[e / 16 % 4]);
    }
    if (map < MAPS)
        for (int e = threadIdx.x % 32; e < FILTER_SIZE; e += 32)
            given[map * FILTER_SIZE + e] = tf32(filters[map * FILTER_SIZE + e]);
}
