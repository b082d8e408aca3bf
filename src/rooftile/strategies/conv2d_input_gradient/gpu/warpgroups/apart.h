// The parts of numbers far below the largest that float16 misses: they are added to the tile in
// float32, one number after another.

#pragma once

#include "conv2d_input_gradient/gpu/warpgroups/winners.h"
#include "conv2d_input_gradient/gpu/warpgroups/pixels.h"

// The cores' part of a number.
__device__ __forceinline__ float held_value(float value, float scale)
{
    float high = widened(NARROW(value * scale)), low = widened(NARROW(value * scale - high));
    return (SPLIT ? high + low : high) * over(0, scale);
}

// The rest of it.
__device__ __forceinline__ float missed(float value, float scale)
{
    return ROUND(value) - held_value(value, scale);
}

// Adds to a pixel what a window brings: a gradient, times a weight of the map's tap number `at`.
__device__ __forceinline__ void bring(result* tile, int e, int position, int at, float gradient,
                                      float weight)
{
    int channel = at / TAPS, p = at % TAPS / MASK_WIDTH, q = at % MASK_WIDTH;
    int y = e / COLUMNS * WINDOW_HEIGHT + position / WINDOW_WIDTH + p - PAD_Y;
    int x = e % COLUMNS * WINDOW_WIDTH + position % WINDOW_WIDTH + q - PAD_X;
    if (position < POSITIONS && y >= 0 && y < HEIGHT && x >= 0 && x < WIDTH)
        tile[channel * TILE_PITCH + y * WIDTH + x] += gradient * weight;
}

// Adds what the cores are not given of small gradients.
__device__ __noinline__ void add_gradients(result* tile, const gradient_number* given,
                                           const float* weights, Weights* held, float scale)
{
    int member = threadIdx.x % 128, group = threadIdx.x / 128;
    unsigned* marks = held->marks[group];
    for (int at = member; at < MARKS * 32; at += 128) {
        int is = at < MAPS * GRADIENTS &&
                 is_tiny(WIDE_GRADIENT(given[at / GRADIENTS * GIVEN_PITCH + at % GRADIENTS]), scale);
        unsigned of_warp = __ballot_sync(~0u, is);
        if (member % 32 == 0) marks[at / 32] = of_warp;
    }
    together(group);
    ROLLED for (int word = 0; word < MARKS; word++)
        ROLLED for (unsigned left = marks[word]; left; left &= left - 1) {
            int number = word * 32 + __ffs(left) - 1, map = number / GRADIENTS, e = number % GRADIENTS;
            int position = position_of(PLACES_OF(given)[map * PLACES_PITCH + e], e);
            float gradient = WIDE_GRADIENT(given[map * GIVEN_PITCH + e]);
            for (int at = member; at < OWN_TAPS; at += 128)
                bring(tile, e, position, at, missed(gradient, scale),
                      ROUND(weight_at(weights, blockIdx.y * 4, map * OWN_TAPS + at)));
            together(group);
        }
}

// Adds what they are not given of small weights, times what they are given of gradients.
__device__ __noinline__ void add_weights(result* tile, const gradient_number* given,
                                         const float* weights, const Weights* held, float scale)
{
    ROLLED for (int each = 0; each < held->count; each++) {
        int map = held->small[each] / OWN_TAPS, at = held->small[each] % OWN_TAPS;
        float weight = weight_at(weights, blockIdx.y * 4, held->small[each]);
        for (int e = threadIdx.x % 128; e < GRADIENTS; e += 128)
            bring(tile, e, position_of(PLACES_OF(given)[map * PLACES_PITCH + e], e), at,
                  held_value(WIDE_GRADIENT(given[map * GIVEN_PITCH + e]), scale), missed(weight, held->scale));
        together(threadIdx.x / 128);
    }
}

__device__ __forceinline__ void add_apart(result* tile, const gradient_number* given,
                                          const float* weights, Weights* held, float scale, int some)
{
    if (some) add_gradients(tile, given, weights, held, scale);
    add_weights(tile, given, weights, held, scale);
}
