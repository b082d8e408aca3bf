// Resident blocks that go through tiles in waves, and whose warps have a job each.  CUDA only, from
// sm_90 on.
//
// Block b of ALL has the tiles b, b + ALL, b + 2 ALL and so on, which pass a ring of STAGES stages in
// its shared memory.  One thread fills stages by bulk copies, WARPS warps find what a tile comes to, one
// warp publishes that, one finds what is before the tile, and WARPS warps store results.  Each goes on
// to the next tile as soon as it is done with this one: a tile is published long before anybody asks
// for it, and while one warp waits for other blocks, all others have work.
//
// A tile's state is a word: the value's 32 bits above a flag, which says too whether nothing before the
// tile counts (CUT).  What is before a tile is what was before the block's last one, and what the ALL
// tiles from that one on come to.  So every block adds up all tiles by itself: nothing is handed from
// tile to tile, and results do not depend on the run.  The operator commutes.
//
// What is carried is said before: by `common/carry.h`, or by `compact/gpu/counts.h`.
//
// states[tiles], cleared before.
// Grid: x over ALL blocks, launched together.

#pragma once

#include "common/pipelines/stages.h"
#include "common/pipelines/tma.h"

#define TOLD 1u
#define CUT 2u
#define PAUSE_NS 20
#define LOOKS ((ALL + 31) / 32)
#ifndef EVERY_LANE
#define EVERY_LANE 0xffffffffu
#endif

// Of each stage four barriers: it is full; its tile is summed; that is published, and what is before
// it is known; it is empty again.  Every lane arrives: it vouches for what itself has read and written.
enum { FULL, SUMMED, KNOWN, EMPTY, EVENTS };
#define BARRIER(ring, event, at) ((ring) + 8 * ((event) * STAGES + (at)))

__device__ __forceinline__ void init_pipeline(unsigned ring, int fillers)
{
    for (int s = 0; s < STAGES; s++) {
        barrier_init(fillers, BARRIER(ring, FULL, s));
        barrier_init(THREADS, BARRIER(ring, SUMMED, s));
        barrier_init(2 * 32, BARRIER(ring, KNOWN, s));
        barrier_init(THREADS, BARRIER(ring, EMPTY, s));
    }
    fence_barrier_init();
}

__global__ void KERNEL(clear)(word* states, int64 tiles)
{
    int64 tile = blockIdx.x * (int64)blockDim.x + threadIdx.x;
    if (tile < tiles) states[tile] = 0;
}

union told { carried value; unsigned bits; };

__device__ __forceinline__ void tell(word* state, carried value, bool cut)
{
    union told told;
    told.value = value;
    word all = (word)told.bits << 32 | (cut ? CUT : TOLD);
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(state), "l"(all) : "memory");
}

__device__ __forceinline__ word seen_of(const word* state)
{
    word seen;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(state) : "memory");
    return seen;
}

__device__ __forceinline__ carried told_by(word seen)
{
    union told told;
    told.value = 0;
    told.bits = seen >> 32;
    return told.value;
}

// The combination of a warp's values, in all of its lanes.
__device__ __forceinline__ carried of_lanes(carried value)
{
    UNROLL for (int reach = 1; reach < 32; reach *= 2)
        value = combined(value, __shfl_xor_sync(EVERY_LANE, value, reach));
    return value;
}

// Asks for the states of the tiles before one, back to the block's last one; for a warp.
__device__ __forceinline__ void ask(word* seen, const word* states, int64 tile)
{
    UNROLL for (int k = 0; k < LOOKS; k++) {
        int64 at = tile - ALL + threadIdx.x % 32 + 32 * k;
        seen[k] = at >= 0 && at < tile ? seen_of(states + at) : TOLD;
    }
}

// A tile's prefix, from the prefix of the block's last tile, and from the answers.
__device__ __forceinline__ struct carry looked_up(struct carry carry, word* seen,
                                                  const word* states, int64 tile)
{
    int lane = threadIdx.x % 32;
    int64 first = tile - ALL + lane;
    // All that is missing is asked for again at once.
    for (;;) {
        bool known = true;
        UNROLL for (int k = 0; k < LOOKS; k++) known = known && (unsigned)seen[k];
        if (known) break;
        __nanosleep(PAUSE_NS);
        UNROLL for (int k = 0; k < LOOKS; k++)
            if (!(unsigned)seen[k]) seen[k] = seen_of(states + first + 32 * k);
    }
    carried all = IDENTITY;
    bool cut = false;
    UNROLL for (int k = 0; k < LOOKS; k++) {
        int64 at = first + 32 * k;
        unsigned cuts = __ballot_sync(EVERY_LANE, (unsigned)seen[k] == CUT);
        if (cuts) all = IDENTITY, cut = true;
        bool counts = at >= 0 && at < tile && lane >= 31 - __clz(cuts | 1);
        if (counts) all = combined(all, told_by(seen[k]));
    }
    return joined(cut ? nothing() : carry, of_lanes(all));
}
