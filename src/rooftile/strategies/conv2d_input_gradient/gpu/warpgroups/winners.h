// Gradients as the cores take them, and the positions of winners.
//
// Where SCALED, a power of two scales an image's gradients, of all maps: it brings the largest to 2^14.
// Where SPLIT, each is two numbers, high + low.  What that misses of those far below the largest is added
// apart: see apart.h.

#pragma once

#include "conv2d_input_gradient/gpu/warpgroups/given.h"
#include "conv2d_input_gradient/gpu/warpgroups/masks.h"

// The bits of the largest of an image's gradients, and of the least that is not zero, less one.
typedef struct { unsigned most, before; } Range;

// Finds the range of those gradients that a thread has brought, for ranges[4 warps].
__device__ __forceinline__ void measure(const gradient_number* given, Range* ranges)
{
    const int count = (int)(sizeof(gradients_piece) / sizeof(gradient_number));
    const int each = GRADIENTS / count;
    unsigned most = 0, before = ~0u;
    for (int at = threadIdx.x % 128; at < MAPS * each; at += 128) {
        const gradient_number* own = given + at / each * GIVEN_PITCH;
        __align__(16) gradients_piece piece = ((const gradients_piece*)own)[at % each];
        UNROLL for (int v = 0; v < count; v++) {
            float gradient = WIDE_GRADIENT(((const gradient_number*)&piece)[v]);
            unsigned bits = __float_as_uint(gradient) & 0x7fffffffu;
            // Less one, zero becomes the largest.
            most = max(most, bits), before = min(before, bits - 1);
        }
    }
    Range range = {__reduce_max_sync(~0u, most), __reduce_min_sync(~0u, before)};
    if (threadIdx.x % 32 == 0) ranges[threadIdx.x % 128 / 32] = range;
}

// An image's scale, what undoes it and that of the weights, NaN where it cannot; whether a number is
// infinite or NaN, and whether some gradients are small.
typedef struct {
    float scale, back;
    int hard, small;
} Scale;

// Tells it for later, and returns the scale.
__device__ __forceinline__ float scale_of(const Range* ranges, const Weights* held, Scale* known)
{
    unsigned most = 0, before = ~0u;
    UNROLL for (int warp = 0; warp < 4; warp++)
        most = max(most, ranges[warp].most), before = min(before, ranges[warp].before);
    int hard = !(ROUND(__uint_as_float(most)) < INFINITY) || held->unit != held->unit;
    Scale found = {1.0f, 1.0f, hard, 0};
#if SCALED
    // The inverse of both scales must not be too small for float32.
    unsigned limit = __float_as_uint(over(126, held->scale));
    found.scale = __uint_as_float(min(__float_as_uint(scale_to(__uint_as_float(most))), limit));
    found.back = hard ? __int_as_float(0x7fffffff) : held->unit * over(0, found.scale);
    found.small = before < __float_as_uint(least(found.scale)) - 1;
#endif
    if (threadIdx.x % 128 == 0) *known = found;
    return found.scale;
}

// A lane's operands of a group of maps: the gradients of its windows, and 16 bits for each, one of
// which tells the couple of positions of its argmax. Words are [half of the maps][row
// of windows].  `columns` says which of a couple each is: of the first half or, in every other lane, of
// the second one, four lanes together.
typedef struct {
    unsigned high[4], low[4], won[4], columns;
} Winners;

__device__ __forceinline__ Winners winners_of(const gradient_number* given, int group, float scale)
{
    Winners found;
    unsigned columns[2] = {0, 0};
    int lane = threadIdx.x % 32, column = lane / 4;
    UNROLL for (int k = 0; k < 4; k++) {
        int row = threadIdx.x % 128 / 32 * 2 + k % 2, e = row * COLUMNS + column;
        float scaled[2];
        unsigned position[2];
        UNROLL for (int v = 0; v < 2; v++) {
            int map = group * GROUP + k / 2 * 8 + lane % 4 * 2 + v;
            int there = (MAPS % GROUP == 0 || map < MAPS) && (ROWS == TILE || row < ROWS) &&
                        (COLUMNS == TILE || column < COLUMNS);
            // A missing one reads the first: a branch here would hold up the products.
            int from = there ? map * GIVEN_PITCH + e : 0, place = there ? map * PLACES_PITCH + e : 0;
            position[v] = position_of(PLACES_OF(given)[place], e);
            int won = there && position[v] < POSITIONS;
            scaled[v] = won ? WIDE_GRADIENT(given[from]) * scale : 0.0f;
        }
        found.high[k] = pack(scaled[0], scaled[1]);
        found.low[k] = pack(scaled[0] - widened(found.high[k]), scaled[1] - widened(found.high[k] >> 16));
        found.won[k] = 0x8000u >> position[0] / 2 % 16 | 0x80000000u >> position[1] / 2 % 16;
        // Of four terms the first two are one map's, the others the next one's.
        unsigned of_four = position[0] % 2 | (2 + position[1] % 2) << 2;
        columns[k / 2] |= of_four << k % 2 * 16 + lane % 4 * 4;
    }
    UNROLL for (int half = 0; half < 2; half++)
        UNROLL for (int apart = 1; apart < 4; apart *= 2)
            columns[half] |= __shfl_xor_sync(~0u, columns[half], apart);
    found.columns = lane % 2 ? columns[1] : columns[0];
    return found;
}

// 16 bits that are all as their highest one, in both halves of a word.
__device__ __forceinline__ unsigned signs(unsigned bits)
{
    unsigned all;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(bits), "r"(0u), "r"(0xbb99u));
    return all;
}

// A number of those that won at a couple of positions, zero in place of others.
__device__ __forceinline__ void choose(const unsigned number[4], const unsigned won[4], int couple,
                                       unsigned a[4])
{
    UNROLL for (int k = 0; k < 4; k++) a[k] = number[k] & signs(won[k] << couple);
}
