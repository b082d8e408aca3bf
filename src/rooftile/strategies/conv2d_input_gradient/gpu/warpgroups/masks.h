// Masks as the cores multiply them, at two adjacent positions in a window.
//
// Of a product's terms each map has one for either position, and since a map has one argmax, one of
// the two meets zero. So of every four terms, which are two maps', two are given to the cores. A
// column of the product is a pixel's channel: rows of the mask, in them PAIRS of pixels that a
// window reaches, of four channels each.
//
// Where SCALED, one power of two scales a block's weights, and where SPLIT, each is two numbers,
// high + low. The parts of weights far below the largest that these miss are added separately: see
// apart.h.

#pragma once

#include "common/scaled_numbers.h"
#include "common/pipelines/wgmma.h"
#include "conv2d_input_gradient/gpu/warpgroups/given.h"

// The flag of a number that the cores do not multiply.
#if SPLIT
#define ROUND(value) (value)
#elif SCALED
#include "common/tf32.h"
#define ROUND(value) tf32(value)
#else
#define ROUND(value) widened(NARROW(value))
#endif

// Numbers below this are small.  Of all others float16 has TF32's bits or, where they are split, the split
// misses no more than of the largest.
__device__ __forceinline__ float least(float scale) { return over(SPLIT ? -2 : -14, scale); }

__device__ __forceinline__ bool is_tiny(float value, float scale)
{
    return value != 0.0f && fabsf(value) < least(scale);
}

// Couples of adjacent positions in a window, and in one of its rows.
#define COUPLES (POSITIONS / 2)
#define COUPLES_ACROSS (WINDOW_WIDTH / 2)
// masks[SPLIT + 1 numbers][COUPLES_ACROSS][GROUPS][4 quarters of the terms][LINE_PIECES][8 columns][8 terms]
#define LINE_PIECES (MASK_HEIGHT * PAIRS)
#define QUARTER_BYTES (LINE_PIECES * 128)
#define MASK_AT(couple, group) (((couple) * GROUPS + (group)) * 4 * QUARTER_BYTES)
#define LOW_MASKS MASK_AT(COUPLES_ACROSS, 0)

// A block's weights, four channels of each map; and how many may be small.
#define OWN_TAPS (4 * TAPS)
#define WEIGHTS (MAPS * OWN_TAPS)
#define MOST_APART 16
// Weights that a thread brings at once.
#define AT_ONCE 16
#define MARKS ((MAPS * GRADIENTS + 31) / 32)

// The range of a block's weights: their scale, and its inverse; NaN where a weight is infinite or
// NaN, or too many are small. How many are small, and their numbers. Of either warpgroup's image,
// which gradients are small, where some are.
typedef struct {
    float scale, unit;
    int count, small[MOST_APART];
    unsigned marks[2][MARKS];
} Weights;

// The block's weight number `at`, zero where there is no such channel.
__device__ __forceinline__ float weight_at(const float* weights, int first, int at)
{
    int there = CHANNELS % 4 == 0 || first + at / TAPS % 4 < CHANNELS;
    int from = at + (at / OWN_TAPS * (CHANNELS - 4) + first) * TAPS;
    return there ? weights[from] : 0.0f;
}

// Brings the block's weights to taken[MAPS][4 channels][TAPS], zeros in place of channels that are not
// there.  Returns the bits of the largest.
__device__ __forceinline__ unsigned take(const float* weights, float* taken, int first)
{
    __shared__ unsigned of_warps[8];
    float found = 0.0f;
    ROLLED for (int begin = threadIdx.x; begin < WEIGHTS; begin += AT_ONCE * 256) {
        // All are on their way before the first is held.
        float some[AT_ONCE];
        UNROLL for (int k = 0; k < AT_ONCE; k++) {
            int at = begin + k * 256;
            some[k] = at < WEIGHTS ? weight_at(weights, first, at) : 0.0f;
        }
        UNROLL for (int k = 0; k < AT_ONCE; k++) {
            if (begin + k * 256 < WEIGHTS) taken[begin + k * 256] = some[k];
            found = fmaxf(found, fabsf(some[k]));
        }
    }
    unsigned most = __reduce_max_sync(~0u, __float_as_uint(found));
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
    __syncthreads();
    UNROLL for (int warp = 0; warp < 8; warp++) most = max(most, of_warps[warp]);
    return most;
}

// Lists the small ones of the block's weights, in their order.
__device__ __forceinline__ void list_small(const float* taken, Weights* held)
{
    const int words = (WEIGHTS + 31) / 32;
    __shared__ unsigned small[words];
    int any = 0, count = 0;
    UNROLL_BY(4) for (int at = threadIdx.x; at < words * 32; at += 256) {
        int is = at < WEIGHTS && is_tiny(taken[at < WEIGHTS ? at : 0], held->scale);
        unsigned of_warp = __ballot_sync(~0u, is);
        if (threadIdx.x % 32 == 0) small[at / 32] = of_warp;
        any |= is;
    }
    if (!__syncthreads_or(any) || threadIdx.x > 0) return;
    ROLLED for (int word = 0; word < words; word++)
        ROLLED for (unsigned left = small[word]; left; left &= left - 1, count++)
            if (count < MOST_APART) held->small[count] = word * 32 + __ffs(left) - 1;
    held->count = count;
    if (count > MOST_APART) held->count = 0, held->unit = __int_as_float(0x7fffffff);
}

// A thread lays 16 bytes of each number at a time: four maps' taps, for two positions, of a column of
// the product.  Says whether a weight is infinite or NaN.
__device__ __forceinline__ int lay_masks(const float* taken, float scale, char* masks)
{
    float doubt = 0.0f;
    UNROLL_BY(2) for (int at = threadIdx.x; at < LOW_MASKS / 16; at += 256) {
        int along = at % 8, line = at / 8 % LINE_PIECES, quarter = at / 8 / LINE_PIECES;
        int map = quarter % (4 * GROUPS) * 4, column = quarter / (4 * GROUPS) * 2, channel = along / 2;
        int p = line / PAIRS, first_q = line % PAIRS * 2 + along % 2 - column;
        const float* row = taken + map * OWN_TAPS + channel * TAPS + p * MASK_WIDTH;
        __align__(16) pair high[4], low[4];
        UNROLL for (int k = 0; k < 4; k++) {
            // Of both positions, the second of which is a column further right.
            float scaled[2];
            UNROLL for (int v = 0; v < 2; v++) {
                int q = first_q - v;
                int there = (MAPS % GROUP == 0 || map + k < MAPS) && q >= 0 && q < MASK_WIDTH;
                scaled[v] = there ? row[k * OWN_TAPS + q] * scale : 0.0f;
            }
            high[k] = pack(scaled[0], scaled[1]);
            float first = widened(high[k]), second = widened(high[k] >> 16);
            low[k] = pack(scaled[0] - first, scaled[1] - second);
            doubt = fmaf(first, 0.0f, fmaf(second, 0.0f, doubt));
        }
        ((uint4*)masks)[at] = *(const uint4*)high;
        if (SPLIT) ((uint4*)(masks + LOW_MASKS))[at] = *(const uint4*)low;
    }
    return doubt != doubt;
}

// Holds the block's masks; `taken` is shared memory for a while.
__device__ __forceinline__ void hold_masks(const float* weights, char* masks, float* taken,
                                           Weights* held, int first)
{
    unsigned most = take(weights, taken, first);
    float scale = SCALED ? scale_to(__uint_as_float(most)) : 1.0f;
    int doubt = lay_masks(taken, scale, masks);
    fence_proxy_async();
    doubt = __syncthreads_or(doubt);
    if (threadIdx.x == 0) {
        held->scale = scale, held->count = 0;
        held->unit = doubt ? __int_as_float(0x7fffffff) : over(0, scale);
    }
    __syncthreads();
    if (SCALED) list_small(taken, held);
    __syncthreads();
}
