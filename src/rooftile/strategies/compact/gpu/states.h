// What tiles tell each other: how many elements the tile alone keeps (AGGREGATE), and then how many
// all tiles up to it keep (PREFIX).  CUDA only.
//
// A state is one word, a number above two bits that say what it is, so that whoever reads it has
// both.  Before the first tile lie WINDOW states that say that nothing has been kept.
//
// states[WINDOW + tiles], tickets[1].

#pragma once

#define AGGREGATE 1u
#define PREFIX 2u
#define WINDOW (32 * LOOK)
#define EVERY_LANE 0xffffffffu

typedef unsigned long long state_word;

__device__ __forceinline__ void publish(state_word* state, int64 number, unsigned flag)
{
    state_word word = (state_word)number << 2 | flag;
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(state), "l"(word) : "memory");
}

// How many states back the nearest prefix of a window is, WINDOW where there is none; -1 where a
// nearer state is not known yet.
__device__ __forceinline__ int nearest_prefix(const state_word* words)
{
    UNROLL for (int k = 0; k < LOOK; k++) {
        unsigned prefixes = __ballot_sync(EVERY_LANE, (words[k] & 3) == PREFIX);
        unsigned known = __ballot_sync(EVERY_LANE, (words[k] & 3) != 0);
        if (prefixes) {
            int lane = __ffs(prefixes) - 1;
            unsigned nearer = (1u << lane) - 1;
            return (known & nearer) == nearer ? 32 * k + lane : -1;
        }
        if (known != EVERY_LANE) return -1;
    }
    return WINDOW;
}

// How many elements are kept before the tile of `state`; asked by a whole warp, whose lanes look at
// LOOK states each at a time.
__device__ __forceinline__ int64 look_back(const state_word* state)
{
    int lane = threadIdx.x % 32;
    int64 sum = 0;
    for (const state_word* at = state - 1 - lane;; at -= WINDOW) {
        state_word words[LOOK] = {};
        int nearest = -1;
        while (nearest < 0) {
            UNROLL for (int k = 0; k < LOOK; k++)
                if ((words[k] & 3) != PREFIX)
                    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                                 : "=l"(words[k])
                                 : "l"(at - 32 * k)
                                 : "memory");
            nearest = nearest_prefix(words);
        }
        int64 number = 0;
        UNROLL for (int k = 0; k < LOOK; k++)
            if (32 * k + lane <= nearest) number += (int64)(words[k] >> 2);
        UNROLL for (int reach = 16; reach > 0; reach /= 2)
            number += __shfl_xor_sync(EVERY_LANE, number, reach);
        sum += number;
        if (nearest < WINDOW) return sum;
    }
}

__global__ void clear(state_word* states, unsigned* tickets, int64 words)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) *tickets = 0;
    for (int64 e = blockIdx.x * (int64)blockDim.x + threadIdx.x; e < words;
         e += (int64)gridDim.x * blockDim.x)
        states[e] = e < WINDOW ? PREFIX : 0;
}
