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
#define WINDOW 32
#define EVERY_LANE 0xffffffffu

typedef unsigned long long state_word;

__device__ __forceinline__ void publish(state_word* state, int64 number, unsigned flag)
{
    state_word word = (state_word)number << 2 | flag;
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(state), "l"(word) : "memory");
}

// How many elements are kept before the tile of `state`; asked by a whole warp.
__device__ __forceinline__ int64 look_back(const state_word* state)
{
    int lane = threadIdx.x % 32;
    int64 sum = 0;
    for (const state_word* at = state - 1 - lane;; at -= WINDOW) {
        state_word word;
        do {
            asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
        } while (__any_sync(EVERY_LANE, (word & 3) == 0));
        unsigned prefixes = __ballot_sync(EVERY_LANE, (word & 3) == PREFIX);
        int nearest = prefixes ? __ffs(prefixes) - 1 : 31;
        int64 number = lane <= nearest ? (int64)(word >> 2) : 0;
        UNROLL for (int reach = 16; reach > 0; reach /= 2)
            number += __shfl_xor_sync(EVERY_LANE, number, reach);
        sum += number;
        if (prefixes) return sum;
    }
}

__global__ void clear(state_word* states, unsigned* tickets, int64 words)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) *tickets = 0;
    for (int64 e = blockIdx.x * (int64)blockDim.x + threadIdx.x; e < words;
         e += (int64)gridDim.x * blockDim.x)
        states[e] = e < WINDOW ? PREFIX : 0;
}
