// Splits folded weights into two numbers of float16, each map's scaled as `common/scaled.h` says; or,
// with one of the NUMBERS, rounds them, to TF32's bits.
//
// For pool_folded_wgmma_tf32 and _ieee, weights[ALL_SLABS][2 rows][MAP_GROUPS][2][8 columns][8 deep],
// for pool_folded_ieee, weights[MAP_GROUPS][SLABS][2][2 rows][32 lanes][2]; behind them the
// given weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH];
// split[ALL_SLABS][2 rows][NUMBERS][MAP_GROUPS][2][8 columns][8 deep] or
// split[MAP_GROUPS][SLABS][NUMBERS][2][2 rows][32 lanes][2] in float16, behind them the
// exponents[4 MAP_GROUPS] that scale results back, the least result that small weights leave no
// doubt of, and the given weights.

#pragma once

#include "common/pipelines/pdl.h"
#include "common/scaled.h"
#include "conv2d/gpu/pool_folded/sizes.h"

// Number of folded weights, and of adjacent ones before their low numbers.
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

// Threads of a block that find the span of a map's weights, and how many maps a block has.
#define SPANNING 32
#define SPANNED (SPLIT_THREADS / SPANNING)

// Finds the spans of SPANNED maps' weights, each thread's map being one of them: that of the first
// ones is spans[0], that of the next ones spans[SPANNING], and so on.
__device__ __forceinline__ void find_spans(const GLOBAL float* weights, int map,
                                           SHARED struct range* spans)
{
    // Maps beyond the last have no weights of their own; their folded ones are zeros.
    const GLOBAL float* filter = weights + FOLDED_WEIGHTS + (map < MAPS ? map : 0) * FILTER_SIZE;
    int thread = threadIdx.x;
    struct range range = {0, ~0u};
    UNROLL_BY(8) for (int e = thread % SPANNING; e < FILTER_SIZE; e += SPANNING)
        widen(&range, __float_as_uint(GIVEN_WEIGHT(filter[e])));
    spans[thread] = range;
    for (int apart = SPANNING / 2; apart > 0; apart /= 2) {
        __syncthreads();
        if (thread % SPANNING >= apart) continue;
        struct range other = spans[thread + apart];
        join(&range, other.most, other.before);
        spans[thread] = range;
    }
    __syncthreads();
}

// Stores what scales results back, and the least result that the small weights of any map leave no
// doubt of.  A block does.
__device__ __forceinline__ void tell_scales(const GLOBAL float* weights, GLOBAL float* told,
                                            SHARED struct range* spans)
{
    float least = 0.0f;
    for (int first = 0; first < 4 * MAP_GROUPS; first += SPANNED) {
        find_spans(weights, first + threadIdx.x / SPANNING, spans);
        for (int m = 0; m < SPANNED && threadIdx.x == 0; m++) {
            struct range span = spans[m * SPANNING];
            bool zeros = span.before == ~0u;
            if (!zeros && __uint_as_float(span.before + 1) * power(scale_of(span)) < LEAST)
                least = LEAST_RESULT;
            if (first + m < 4 * MAP_GROUPS) told[first + m] = -scale_of(span);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) told[4 * MAP_GROUPS] = least;
}

// Splits the weights.  Grid: a thread a weight, those given among them, and a block behind them.
__global__ void KERNEL(split_weights)(const GLOBAL float* weights, GLOBAL float* split, int count)
{
    __shared__ struct range spans[SPLIT_THREADS];
    GRIDDEPCONTROL_LAUNCH();
    GRIDDEPCONTROL_WAIT();
    int thread = threadIdx.x, begin = blockIdx.x * SPLIT_THREADS, i = begin + thread;
    if (blockIdx.x == gridDim.x - 1) {
        tell_scales(weights, split + FOLDED, spans);
    } else if (begin < FOLDED_WEIGHTS) {
        // Folded weights of a group of maps are 128 or more, 16 of each map in turn.
        int of_four = thread / SPANNING;
        find_spans(weights, GROUP_OF(begin + of_four / 4 * 128) * 4 + of_four % 4, spans);
        struct range span = spans[(thread / 128 * 4 + thread / 16 % 4) * SPANNING];
        float weight = GIVEN_WEIGHT(weights[i]) * power(scale_of(span));
        GLOBAL narrow* numbers =
            (GLOBAL narrow*)split + i / TOGETHER * (NUMBERS * TOGETHER) + i % TOGETHER;
        narrow high = NARROW(weight);
        numbers[0] = high;
        if (NUMBERS == 2) numbers[TOGETHER] = NARROW(low(weight, widened(high)));
    } else if (i < count) {
        split[FOLDED + 4 * MAP_GROUPS + 1 + i - FOLDED_WEIGHTS] = GIVEN_WEIGHT(weights[i]);
    }
}
