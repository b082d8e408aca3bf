// Masks as the cores multiply them: moved to each column of a window, four channels of each pixel
// beside each other.
//
// A column of the product is a pixel's channel: rows of the mask, in them CHUNKS pairs of pixels that a
// window reaches, of four channels each.  Terms are maps.

#pragma once

#include "common/cores.h"
#include "conv2d_input_gradient/gpu/warpgroups/given.h"
#if CORES == TF32
#include "common/tf32.h"
typedef float element;
#define ELEMENT(value) tf32(value)
#define ROUND(value) tf32(value)
#else
#include "common/narrow.h"
typedef narrow element;
#define ELEMENT(value) NARROW(value)
#define ROUND(value) widened(NARROW(value))
#endif
// Numbers in 16 bytes, and the instructions that take a group of maps.
#define NUMBERS (16 / (int)sizeof(element))
#define DEEP (GROUP / (2 * NUMBERS))
// masks[WINDOW_WIDTH][GROUPS][DEEP][2 halves of the terms][LINE_PIECES][8 columns][16 bytes]
#define LINE_PIECES (MASK_HEIGHT * CHUNKS)
#define MASK_AT(column, group, step) \
    ((((column) * GROUPS + (group)) * DEEP + (step)) * 2 * LINE_PIECES * 128)

// A thread lays 16 bytes at a time: some maps' taps of a column of the product.  Says whether a weight
// is infinite or NaN.
__device__ __forceinline__ int hold_masks(const float* weights, char* masks, int first)
{
    float doubt = 0.0f;
    UNROLL_BY(2) for (int at = threadIdx.x; at < MASK_AT(WINDOW_WIDTH, 0, 0) / 16; at += 256) {
        int along = at % 8, line = at / 8 % LINE_PIECES, terms = at / 8 / LINE_PIECES;
        int map = terms % (2 * DEEP * GROUPS) * NUMBERS, column = terms / (2 * DEEP * GROUPS);
        int p = line / CHUNKS, q = line % CHUNKS * 2 + along / 4 - column, channel = first + along % 4;
        int there = channel < CHANNELS && q >= 0 && q < MASK_WIDTH;
        const float* taps = weights + ((map * CHANNELS + channel) * MASK_HEIGHT + p) * MASK_WIDTH + q;
        __align__(16) element made[NUMBERS];
        UNROLL for (int k = 0; k < NUMBERS; k++) {
            float tap = there && map + k < MAPS ? taps[k * CHANNELS * TAPS] : 0.0f;
            doubt = fmaf(ROUND(tap), 0.0f, doubt);
            made[k] = ELEMENT(tap);
        }
        ((uint4*)masks)[at] = *(const uint4*)made;
    }
    return doubt != doubt;
}
