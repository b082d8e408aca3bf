// The warps of resident blocks (`common/waves.h`) that publish what tiles come to, and look up what is
// before their pieces, of which each of WARPS warps has one.  `cut_warps` says which pieces a segment
// begins in, null where nothing cuts a tile.  CUDA only.

#pragma once

#include "common/waves.h"

// Bit w: whether a segment begins in the piece of warp w.
__device__ __forceinline__ unsigned cuts_of(const unsigned (*cut_warps)[WARPS], int stage)
{
    int lane = threadIdx.x % 32;
    return cut_warps ? __ballot_sync(EVERY_LANE, lane < WARPS && cut_warps[stage][lane]) : 0;
}

// A warp: tells others what tiles come to.
__device__ __forceinline__ void publish_tiles(const carried (*totals)[WARPS],
                                              const unsigned (*cut_warps)[WARPS], unsigned ring,
                                              word* states, int64 tiles)
{
    struct pipeline_state now = {0, 0};
    int lane = threadIdx.x % 32;
    for (int64 tile = blockIdx.x; tile < tiles; tile += ALL) {
        barrier_wait(BARRIER(ring, SUMMED, now.stage), now.phase);
        unsigned begins = cuts_of(cut_warps, now.stage);
        bool counts = lane < WARPS && lane >= 31 - __clz(begins | 1);
        carried all = of_lanes(counts ? totals[now.stage][lane] : IDENTITY);
        if (lane == 0) tell(states + tile, all, begins != 0);
        barrier_arrive(BARRIER(ring, KNOWN, now.stage));
        advance(&now, STAGES);
    }
}

// A warp: what is before each piece.
__device__ __forceinline__ void look_up_tiles(carried (*before)[WARPS],
                                              const carried (*totals)[WARPS],
                                              const unsigned (*cut_warps)[WARPS], unsigned ring,
                                              const word* states, int64 tiles)
{
    struct pipeline_state now = {0, 0};
    struct carry carry = nothing();
    int lane = threadIdx.x % 32;
    unsigned up_to = 0xffffffffu >> (31 - lane);
    word seen[LOOKS];
    if (blockIdx.x < tiles) ask(seen, states, blockIdx.x);
    for (int64 tile = blockIdx.x; tile < tiles; tile += ALL) {
        carry = looked_up(carry, seen, states, tile);
        // The next answers are on their way while this one is passed on.
        if (tile + ALL < tiles) ask(seen, states, tile + ALL);
        barrier_wait(BARRIER(ring, SUMMED, now.stage), now.phase);
        unsigned begins = cuts_of(cut_warps, now.stage);
        int first = 31 - __clz((begins & up_to) | 1);
        carried sum = lane < WARPS ? totals[now.stage][lane] : IDENTITY;
        UNROLL for (int reach = 1; reach < WARPS; reach *= 2) {
            carried other = __shfl_up_sync(EVERY_LANE, sum, reach);
            if (lane - reach >= first) sum = combined(other, sum);
        }
        carried earlier = __shfl_up_sync(EVERY_LANE, sum, 1);
        carried own = begins & up_to >> 1 ? earlier : value_of(joined(carry, earlier));
        if (lane < WARPS) before[now.stage][lane] = lane ? own : value_of(carry);
        barrier_arrive(BARRIER(ring, KNOWN, now.stage));
        advance(&now, STAGES);
    }
}
