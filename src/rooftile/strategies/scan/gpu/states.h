// What tiles tell each other: a state for each, which is published twice.  First what the tile alone
// comes to (AGGREGATE), and then what all tiles up to it come to (PREFIX).  CUDA only.
//
// A state is some words of 64 bits, each with 32 bits of the value above the flag.  So every word
// says by itself what it holds: whoever reads words of one flag has a value, whatever the order in
// which memory shows them, and no fence is needed between a value and its flag.
//
// states[WINDOW + tiles][PIECES]: a tile's look back over the first WINDOW finds nothing there.

#pragma once
#include "scan.h"

#define AGGREGATE 1u
#define PREFIX 2u
#define WINDOW (32 * LOOK)
#define EVERY_LANE 0xffffffffu
#define PIECES ((int)(sizeof(struct carry) + 3) / 4)

typedef unsigned long long state_word;
union pieces { struct carry all; unsigned of[PIECES]; };

__device__ __forceinline__ void publish(state_word* state, struct carry value, unsigned flag)
{
    union pieces pieces;
    pieces.of[0] = 0;
    pieces.all = value;
    if (PIECES == 1) {
        state_word word = (state_word)pieces.of[0] << 32 | flag;
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(state), "l"(word) : "memory");
    }
    UNROLL for (int k = 0; k + 1 < PIECES; k += 2) {
        state_word low = (state_word)pieces.of[k] << 32 | flag;
        state_word high = (state_word)pieces.of[k + 1] << 32 | flag;
        asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(state + k), "l"(low),
                     "l"(high)
                     : "memory");
    }
}

// Returns the flag of a state, 0 where it is not whole yet.
__device__ __forceinline__ unsigned looked_up(const state_word* state, struct carry* value)
{
    union pieces pieces;
    unsigned flag = 0;
    if (PIECES == 1) {
        state_word word;
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(state) : "memory");
        pieces.of[0] = word >> 32, flag = (unsigned)word;
    }
    UNROLL for (int k = 0; k + 1 < PIECES; k += 2) {
        state_word low, high;
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(low), "=l"(high)
                     : "l"(state + k)
                     : "memory");
        pieces.of[k] = low >> 32, pieces.of[k + 1] = high >> 32;
        if (k == 0) flag = (unsigned)low;
        if ((unsigned)low != flag || (unsigned)high != flag) flag = 0;
    }
    *value = pieces.all;
    return flag;
}

__global__ void clear(state_word* states, unsigned* tickets, int64 words)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) *tickets = 0;
    for (int64 e = blockIdx.x * (int64)blockDim.x + threadIdx.x; e < words;
         e += (int64)gridDim.x * blockDim.x)
        states[e] = 0;
}

// How many tiles back the nearest prefix is, where all that is nearer is known; else -1.
__device__ __forceinline__ int nearest_prefix(const unsigned* flags)
{
    UNROLL for (int k = 0; k < LOOK; k++) {
        unsigned prefixes = __ballot_sync(EVERY_LANE, flags[k] == PREFIX);
        unsigned known = __ballot_sync(EVERY_LANE, flags[k] != 0);
        if (prefixes) {
            int lane = __ffs(prefixes) - 1;
            unsigned nearer = (1u << lane) - 1;
            return (known & nearer) == nearer ? 32 * k + lane : -1;
        }
        if (known != EVERY_LANE) return -1;
    }
    return -1;
}

// What all tiles before that of `state` come to, for a warp.  `held` has a place for each of them.
__device__ __forceinline__ struct carry look_back(const state_word* state, struct carry* held)
{
    int lane = threadIdx.x % 32, nearest = -1;
    struct carry values[LOOK];
    unsigned flags[LOOK] = {};
    while (nearest < 0) {
        UNROLL for (int k = 0; k < LOOK; k++)
            if (flags[k] != PREFIX)
                flags[k] = looked_up(state - (1 + lane + 32 * k) * PIECES, &values[k]);
        nearest = nearest_prefix(flags);
    }
    UNROLL for (int k = 0; k < LOOK; k++)
        if (lane + 32 * k <= nearest) held[lane + 32 * k] = values[k];
    __syncwarp();
    struct carry before = held[nearest];
    UNROLL_BY(4) for (int back = nearest - 1; back >= 0; back--)
        before = joined(before, held[back].high);
    return before;
}
