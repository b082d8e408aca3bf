// Gradients and the positions of winners, as the cores take them.

#pragma once

#include "conv2d_input_gradient/gpu/warpgroups/given.h"
#include "conv2d_input_gradient/gpu/warpgroups/masks.h"

// What a lane multiplies of a group of maps: the gradients of windows, and in 16 bits for each, one
// of which says at which position it won.  Of two windows a lane has column lane / 4, in both rows
// of windows of its warp: words are [half of the terms][row].
// `doubt` is NaN where a gradient is that or infinite, else zero.
typedef struct {
    unsigned gradient[DEEP][4], won[4];
    float doubt;
} Winners;

// The bit of a window's winner, none where there is no such window.
__device__ __forceinline__ unsigned bit_of(winner_place place, int e)
{
    unsigned position = position_of(place, e);
    return position < POSITIONS ? 1u << position : 0u;
}

__device__ __forceinline__ Winners winners_of(const gradient_number* given, int group)
{
    Winners found;
    found.doubt = 0.0f;
    int lane = threadIdx.x % 32, column = lane / 4;
    UNROLL for (int k = 0; k < 4; k++) {
        int row = threadIdx.x % 128 / 32 * 2 + k % 2, e = row * COLUMNS + column;
        float gradient[2];
        unsigned bit[2];
        UNROLL for (int v = 0; v < 2; v++) {
#if CORES == TF32
            int map = group * GROUP + 8 * v + k / 2 * 4 + lane % 4;
#else
            int map = group * GROUP + k / 2 * 8 + lane % 4 * 2 + v;
#endif
            int there = (MAPS % GROUP == 0 || map < MAPS) && (ROWS == TILE || row < ROWS) &&
                        (COLUMNS == TILE || column < COLUMNS);
            // What is not there reads the first one: a jump here would hold up the products.
            int from = there ? map * GIVEN_PITCH + e : 0, place = there ? map * PLACES_PITCH + e : 0;
            gradient[v] = there ? WIDE_GRADIENT(given[from]) : 0.0f;
            found.doubt = fmaf(ROUND(gradient[v]), 0.0f, found.doubt);
            bit[v] = there ? bit_of(PLACES_OF(given)[place], e) : 0u;
        }
        found.won[k] = bit[0] | bit[1] << 16;
#if CORES == TF32
        UNROLL for (int v = 0; v < 2; v++) found.gradient[v][k] = __float_as_uint(tf32(gradient[v]));
#else
        found.gradient[0][k] = pack(gradient[0], gradient[1]);
#endif
    }
    return found;
}

// The gradients of those that won at a position, zero in place of others: those of a step's maps.
__device__ __forceinline__ void choose(Winners own, int position, int step, unsigned a[4])
{
    UNROLL for (int k = 0; k < 4; k++) {
#if CORES == TF32
        a[k] = own.won[k] & 1u << position + 16 * step ? own.gradient[step][k] : 0u;
#else
        a[k] = own.gradient[0][k] & (own.won[k] >> position & 0x10001u) * 0xffffu;
#endif
    }
}
