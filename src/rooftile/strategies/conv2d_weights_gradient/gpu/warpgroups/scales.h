// Scales of images whose numbers are float32: cores multiply them in float16, where SCALED.
//
// A power of two scales an image's pixels, so that the largest is below 2^15. Another one scales
// its gradients, so that products have one scale in all images of a block: the largest image's so
// far. When it shrinks, the present sums shrink with it. Numbers far below the largest are called
// small: of these and of no others the cores' numbers miss more than a rounding, 2^-25 at most.
// The amount that sums may miss is stored with them: see doubts.h.

#pragma once

#include "conv2d_weights_gradient/gpu/warpgroups/gradients.h"
#include "conv2d_weights_gradient/gpu/warpgroups/pixels.h"

// A power of two; numbers below 2^SMALL are small.
#define POWER(exponent) __uint_as_float((unsigned)((exponent) + 127) << 23)
#define SMALL (-14)
// The largest exponent of a scale, of which there are two in a product's; by how much it may shrink,
// so that sums stay exact.
#define MOST_EXPONENT 87
#define MOST_SHRINKING 64

// The largest magnitude of an image's pixels, of its gradients; and twice the bits of the least one that is
// not zero, less one.  NaN makes NaN of sums, whatever their scale.
struct range { float most; unsigned before; };
struct ranges { struct range pixels, gradients; };

__device__ __forceinline__ void widen(struct range* range, float value)
{
    range->most = fmaxf(range->most, fabsf(value));
    // Twice the bits leave the sign out.  Less one, zero becomes the largest.
    range->before = min(range->before, 2 * __float_as_uint(value) - 1);
}

// The state of a thread that stores: the exponent of products' scale, the first exponent, the
// number of its gradients, all of one map, that are not zero, and the ranges so far of its pixels,
// of its gradients, and of all numbers.
struct scales { int product, first, winners; unsigned found; };
// In a channel is some pixel that is not zero.
#define CHANNEL(c) (1u << (c))
// Some pixel was small, some gradient was, and some number was not finite.
#define SMALL_PIXEL 16u
#define SMALL_GRADIENT 32u
#define HARD 64u

__device__ __forceinline__ struct scales no_scales(void)
{
    struct scales scales = {2 * MOST_EXPONENT, -2 * MOST_EXPONENT, 0, 0};
    return scales;
}

// A thread's ranges in an image.
__device__ __forceinline__ struct ranges measured(const struct pixels* pixels,
                                                  const struct gradients* gradients, struct scales* scales)
{
    struct ranges own = {{0.0f, ~0u}, {0.0f, ~0u}};
    UNROLL for (int c = 0; c < 4; c++) {
        struct range channel = {0.0f, own.pixels.before};
        UNROLL for (int turn = 0; turn < TASKS; turn++)
            UNROLL for (int v = 0; v < UNIT_WORDS; v++)
                widen(&channel, __uint_as_float(pixels->of[turn][c][v]));
        if (channel.most > 0.0f) scales->found |= CHANNEL(c);
        own.pixels.most = fmaxf(own.pixels.most, channel.most);
        own.pixels.before = channel.before;
    }
    UNROLL for (int turn = 0; turn < TURNS; turn++)
        UNROLL for (int k = 0; k < WINDOWS; k++) {
            float gradient = WIDE_GRADIENT(WINNER_AT(gradients, turn, k));
            widen(&own.gradients, gradient);
            scales->winners += gradient != 0.0f;
        }
    return own;
}

// The bits of the largest of all pixels, and gradients, of an image: the threads that lay meet for it.
__device__ __forceinline__ uint2 largest(struct ranges own, uint2 of_warps[WARPS])
{
    unsigned pixel = __reduce_max_sync(~0u, __float_as_uint(own.pixels.most));
    unsigned gradient = __reduce_max_sync(~0u, __float_as_uint(own.gradients.most));
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = make_uint2(pixel, gradient);
    asm volatile("bar.sync %0, %1;" ::"n"(2), "n"(THREADS) : "memory");
    uint2 most = of_warps[threadIdx.x % WARPS];
    most.x = __reduce_max_sync(~0u, most.x), most.y = __reduce_max_sync(~0u, most.y);
    return most;
}

// The scales of an image, and the exponent of its products'.
struct scale { float pixels, gradients; int product; };

// The exponent that brings the largest, of these bits, below 2^15.  What undoes one beyond
// MOST_EXPONENT would be too small for float32.
__device__ __forceinline__ int exponent_of(unsigned most)
{
    return min(14 + 127 - (int)(most >> 23), MOST_EXPONENT);
}

// True if some number is small for a scale's exponent.
__device__ __forceinline__ int some_small(struct range range, int exponent)
{
    return range.before < ((unsigned)min(SMALL + 127 - exponent, 255) << 24) - 1;
}

__device__ __forceinline__ struct scale next_scale(struct scales* scales, struct ranges own, uint2 most)
{
    int pixels = exponent_of(most.x), gradients = exponent_of(most.y);
    if (most.x > 0 && most.y > 0) {
        scales->product = min(scales->product, pixels + gradients);
        scales->first = max(scales->first, scales->product);
    }
    // Where there is no pixel, gradients must be finite all the same.
    gradients = min(scales->product - pixels, gradients);
    int shrunk = scales->first - scales->product > MOST_SHRINKING;
    if (some_small(own.pixels, pixels)) scales->found |= SMALL_PIXEL;
    if (shrunk || some_small(own.gradients, gradients)) scales->found |= SMALL_GRADIENT;
    if (max(most.x, most.y) >= 0x7f800000u) scales->found |= HARD;
    struct scale scale = {POWER(pixels), gradients < -126 ? 0.0f : POWER(gradients), scales->product};
    return scale;
}

// A block's report on its sums: their scale's exponent at the end, the ranges, the maps with small
// gradients, and each map's number of non-zero ones.
struct told { int exponent; unsigned found, small_maps; int winners[TILE_MAPS]; };

__device__ __forceinline__ void tell(const struct scales* scales, struct told* told)
{
    if (threadIdx.x == 0) told->exponent = scales->product;
    atomicOr(&told->found, scales->found);
    atomicAdd(&told->winners[OWN_MAP], scales->winners);
    if (scales->found & SMALL_GRADIENT) atomicOr(&told->small_maps, 1u << OWN_MAP);
}

// The value of a sum of products without their scale.
__device__ __forceinline__ float unscaled(float sum, int exponent)
{
    return sum * POWER(-(exponent / 2)) * POWER(exponent / 2 - exponent);
}

// The amount that a map's weights of a channel may miss: for each gradient 2^-25 of a number, times
// one below 2^15, of both of a product.
__device__ __forceinline__ float doubt(const struct told* told, int map, int channel)
{
    int small = told->found & SMALL_PIXEL || told->small_maps >> map & 1;
    int some = small && told->found & CHANNEL(channel);
    return some ? unscaled(told->winners[map] * 0x1p-9f, told->exponent) : 0.0f;
}
