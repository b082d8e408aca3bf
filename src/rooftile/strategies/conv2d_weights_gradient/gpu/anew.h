// Operands of the cores, and sums that are made anew, by their definition.

#pragma once

#include "common/cores.h"
#include "common/formats.h"
#include "common/gradient_number.h"
#include "conv2d_weights_gradient/gpu/columns.h"
#if CORES == TF32
#include "common/tf32.h"
#define ROUND(value) tf32(value)
// A word's windows: one, or two of 16 bits.
#define WORD_WINDOWS 1
#define WORD(value, next) __float_as_uint(tf32(value))
#define GRADIENTS_WORD(value, next) WORD(value, next)
#else
#include "common/narrow.h"
#if SCALED
#include "common/tf32.h"
#define ROUND(value) tf32(value)
#else
#define ROUND(value) widened(NARROW(value))
#endif
#define WORD_WINDOWS 2
#define WORD(value, next) pack(value, next)
#if DY_NARROW
#define GRADIENTS_WORD(value, next) ((unsigned)(value) | (unsigned)(next) << 16)
#else
#define GRADIENTS_WORD(value, next) WORD(value, next)
#endif
#endif

// A thread's share of what a weight, or a bias, is by its definition.
__device__ __forceinline__ float share(const given* x, const gradient_number* dy,
                                       const winner_place* where, int map, int tap, int images)
{
    int channel = tap / TAPS, p = tap % TAPS / MASK_WIDTH, q = tap % MASK_WIDTH;
    float sum = 0.0f;
    for (int64 at = threadIdx.y * 32 + threadIdx.x; at < (int64)images * GRADIENTS; at += 512) {
        int64 n = at / GRADIENTS, number = (n * MAPS + map) * GRADIENTS + at % GRADIENTS;
        spot won = SPOT(number, at % GRADIENTS);
        int i = won.row + p - PAD_Y, j = won.column + q - PAD_X;
        int inside = i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH;
        float pixel = channel == CHANNELS ? 1.0f : 0.0f;
        if (channel < CHANNELS && inside)
            pixel = ROUND(WIDE(x[((n * CHANNELS + channel) * HEIGHT + i) * WIDTH + j]));
        sum += ROUND(PLACED_GRADIENT(number, WIDE_GRADIENT(dy[number]))) * pixel;
    }
    return sum;
}

// Recomputes a block's 32 sums that are `lost`, one after another.
__device__ __forceinline__ void make_anew(unsigned lost, const given* x, const gradient_number* dy,
                                          const winner_place* where, int images, float found[32])
{
    __shared__ float shares[16];
    for (; lost; lost &= lost - 1) {
        int k = __ffs(lost) - 1, column = blockIdx.x * 32 + k;
        int map = column / COLUMNS_ALL, tap = column % COLUMNS_ALL;
        float sum = share(x, dy, where, map, tap, images);
        UNROLL for (int apart = 1; apart < 32; apart *= 2) sum += __shfl_xor_sync(~0u, sum, apart);
        if (threadIdx.x == 0) shares[threadIdx.y] = sum;
        __syncthreads();
        if (threadIdx.x + threadIdx.y == 0) {
            for (int row = 1; row < 16; row++) sum += shares[row];
            found[k] = sum;
        }
        __syncthreads();
    }
}
