// Splits folded weights into two numbers of float16, each map's scaled as `common/scaled.h` says; or,
// with one of the NUMBERS, rounds them, to TF32's bits.
//
// For rungs 24 and 25, pool_folded_wgmma_tf32 and _ieee, weights[ALL_SLABS][2 rows][MAP_GROUPS][2][8 columns][8 deep],
// for rung 45, pool_folded_ieee, weights[MAP_GROUPS][SLABS][2][2 rows][32 lanes][2]; behind them the
// given weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH]; spans[MAPS], one for each map's weights;
// split[ALL_SLABS][2 rows][NUMBERS][MAP_GROUPS][2][8 columns][8 deep] or
// split[MAP_GROUPS][SLABS][NUMBERS][2][2 rows][32 lanes][2] in float16, behind them the
// exponents[4 MAP_GROUPS] that scale results back, the least result that small weights leave no
// doubt of, and the given weights.

#pragma once

#include "common/scaled.h"
#include "conv2d/gpu/pool_folded/sizes.h"

// How many weights are folded, and how many of them lie together, before their low numbers.
#if WGMMA
#define ALL_SLABS ((SLABS + SUMMED - 1) / SUMMED * SUMMED)
#define TOGETHER (128 * MAP_GROUPS)
#define GROUP_OF(i) ((i) % TOGETHER / 128)
#else
#define ALL_SLABS SLABS
#define TOGETHER 256
#define GROUP_OF(i) ((i) / TOGETHER / SLABS)
#endif
#define FOLDED_WEIGHTS (256 * MAP_GROUPS * ALL_SLABS)
#define FOLDED (FOLDED_WEIGHTS * NUMBERS / 2)

#if NUMBERS == 1
#include "common/tf32.h"
#define GIVEN_WEIGHT(weight) tf32(weight)
#else
#define GIVEN_WEIGHT(weight) (weight)
#endif

// Finds the span of each map's weights.  Grid: a block a map.
__global__ void measure_weights(const GLOBAL float* weights, GLOBAL struct range* spans)
{
    __shared__ struct range ranges[MEASURE_THREADS];
    const GLOBAL float* filter = weights + FOLDED_WEIGHTS + blockIdx.x * FILTER_SIZE;
    struct range range = {0, ~0u};
    for (int e = threadIdx.x; e < FILTER_SIZE; e += MEASURE_THREADS)
        widen(&range, __float_as_uint(GIVEN_WEIGHT(filter[e])));
    ranges[threadIdx.x] = range;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int e = 1; e < MEASURE_THREADS; e++) join(&range, ranges[e].most, ranges[e].before);
    spans[blockIdx.x] = range;
}

// The least result that the small weights of any map leave no doubt of.
__device__ __forceinline__ float least_result(const GLOBAL struct range* spans)
{
    float least = 0.0f;
    for (int m = 0; m < MAPS; m++) {
        struct range span = spans[m];
        bool zeros = span.before == ~0u;
        if (!zeros && __uint_as_float(span.before + 1) * power(scale_of(span)) < LEAST)
            least = LEAST_RESULT;
    }
    return least;
}

// Splits the weights.  Grid: a thread a weight, those given among them.
__global__ void split_weights(const GLOBAL float* weights, const GLOBAL struct range* spans,
                              GLOBAL float* split, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < FOLDED_WEIGHTS) {
        int at = i % TOGETHER, map = GROUP_OF(i) * 4 + at / 16 % 4;
        // Maps beyond the last have no span of their own; their weights are zeros.
        struct range span = spans[map < MAPS ? map : 0];
        float weight = GIVEN_WEIGHT(weights[i]) * power(scale_of(span));
        GLOBAL narrow* numbers =
            (GLOBAL narrow*)split + i / TOGETHER * (NUMBERS * TOGETHER) + at;
        narrow high = NARROW(weight);
        numbers[0] = high;
        if (NUMBERS == 2) numbers[TOGETHER] = NARROW(low(weight, widened(high)));
    } else if (i < count) {
        int behind = i - FOLDED_WEIGHTS;
        split[FOLDED + 4 * MAP_GROUPS + 1 + behind] = GIVEN_WEIGHT(weights[i]);
    }
    if (i < 4 * MAP_GROUPS) {
        struct range span = spans[i < MAPS ? i : 0];
        split[FOLDED + i] = -scale_of(span);
    }
    if (i == 0) split[FOLDED + 4 * MAP_GROUPS] = least_result(spans);
}
