// Operands of the cores, and sums over the blocks, of which those that are NaN are made anew, in the
// same launch: where zeros met an infinity.

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

// As in finish.h; then a block makes those of its 32 columns anew that are NaN, one after another.
// Grid: x over the columns.  Block: 32 by 16.
__global__ void LAUNCH_BOUNDS(512)
finish(const GLOBAL given* x, const GLOBAL gradient_number* dy,
       WHERE_ARGUMENT const GLOBAL float* partial, GLOBAL float* __restrict__ dweights,
       GLOBAL float* __restrict__ dbias, int images, int rows)
{
    __shared__ float joined[16][32], shares[16];
    AWAIT_EARLIER();
    join_rows(partial, rows, joined);
    __syncthreads();
    int first = blockIdx.x * 32;
    float found = joined[0][threadIdx.x];
    // A warp has all columns.
    for (unsigned lost = __ballot_sync(~0u, found != found); lost; lost &= lost - 1) {
        int k = __ffs(lost) - 1;
        int map = (first + k) / COLUMNS_ALL, tap = (first + k) % COLUMNS_ALL;
        float sum = share(x, dy, where, map, tap, images);
        UNROLL for (int apart = 1; apart < 32; apart *= 2) sum += __shfl_xor_sync(~0u, sum, apart);
        if (threadIdx.x == 0) shares[threadIdx.y] = sum;
        __syncthreads();
        if (threadIdx.x + threadIdx.y == 0) {
            for (int row = 1; row < 16; row++) sum += shares[row];
            joined[0][k] = sum;
        }
        __syncthreads();
    }
    if (threadIdx.y == 0) store_column(first + threadIdx.x, joined[0][threadIdx.x], dweights, dbias);
}
