// The warps of resident blocks (`common/waves.h`) that publish what tiles come to, and look up what is
// before their pieces, of which each of WARPS warps has one.  Nothing cuts a tile.  CUDA only.

#pragma once

#include "common/waves.h"

// A warp: tells others what tiles come to.
__device__ __forceinline__ void publish_tiles(const carried (*totals)[WARPS], unsigned ring,
                                              word* states, int64 tiles)
{
    struct pipeline_state now = {0, 0};
    int lane = threadIdx.x % 32;
    for (int64 tile = blockIdx.x; tile < tiles; tile += ALL) {
        barrier_wait(BARRIER(ring, SUMMED, now.stage), now.phase);
        carried all = of_lanes(lane < WARPS ? totals[now.stage][lane] : IDENTITY);
        if (lane == 0) tell(states + tile, all, false);
        barrier_arrive(BARRIER(ring, KNOWN, now.stage));
        advance(&now, STAGES);
    }
}

// A warp: what is before each piece.
__device__ __forceinline__ void look_up_tiles(carried (*before)[WARPS],
                                              const carried (*totals)[WARPS], unsigned ring,
                                              const word* states, int64 tiles)
{
    struct pipeline_state now = {0, 0};
    struct carry carry = nothing();
    int lane = threadIdx.x % 32;
    word seen[LOOKS];
    if (blockIdx.x < tiles) ask(seen, states, blockIdx.x);
    for (int64 tile = blockIdx.x; tile < tiles; tile += ALL) {
        carry = looked_up(carry, seen, states, tile);
        // The next answers are on their way while this one is passed on.
        if (tile + ALL < tiles) ask(seen, states, tile + ALL);
        barrier_wait(BARRIER(ring, SUMMED, now.stage), now.phase);
        carried sum = lane < WARPS ? totals[now.stage][lane] : IDENTITY;
        UNROLL for (int reach = 1; reach < WARPS; reach *= 2) {
            carried other = __shfl_up_sync(EVERY_LANE, sum, reach);
            if (lane >= reach) sum = combined(other, sum);
        }
        carried earlier = __shfl_up_sync(EVERY_LANE, sum, 1);
        if (lane < WARPS) before[now.stage][lane] = value_of(lane ? joined(carry, earlier) : carry);
        barrier_arrive(BARRIER(ring, KNOWN, now.stage));
        advance(&now, STAGES);
    }
}
