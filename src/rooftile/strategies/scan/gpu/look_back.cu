// Rung 11, look_back: a single pass; each tile looks back at those before it for what they come to.
//
// A block takes the next tile by an atomic counter, so that all tiles before it have been begun by
// blocks that run: nobody waits for a block that waits for room.  It publishes what its tile comes
// to, and a warp looks back over the WINDOW tiles before it until it finds one that knows what all
// tiles up to it come to.  What it removes: the second read of x.
//
// Results do not depend on the run.  What is before a tile is always ((t0 op t1) op t2) op ...: a
// warp that has found a prefix adds the tiles behind it one after the other, and whoever found
// another one has made the same sums before.
//
// x[lines][count], y[lines][count], states[WINDOW + lines * tiles][PIECES], tickets[1].
// Grid: x over the tiles of all lines.
// Block: x over WARPS warps.

#include "states.h"
#include "tile.h"

#define WARPS (THREADS / 32)
#define TILE (WARPS * ROWS * SPAN)

__global__ RESIDENT_BOUNDS(THREADS, BLOCKS) void scan_tiles(
    const given* __restrict__ x, result* __restrict__ y, state_word* states, unsigned* tickets,
    int64 tiles, int64 count)
{
    __shared__ struct carry held[WINDOW];
    __shared__ carried totals[WARPS], before[WARPS];
    __shared__ unsigned ticket;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1u);
    __syncthreads();
    int64 line = ticket / tiles, tile = ticket % tiles;
    int64 low = (REVERSE ? tiles - 1 - tile : tile) * TILE +
                (REVERSE ? WARPS - 1 - warp : warp) * (ROWS * SPAN);
    struct rows rows;
    load_rows(&rows, x + line * count, low, count);
    carried all = scan_rows(&rows);
    if (lane == 0) totals[warp] = all;
    __syncthreads();
    if (warp == 0) {
        carried sum = lane < WARPS ? totals[lane] : IDENTITY;
        UNROLL for (int reach = 1; reach < WARPS; reach *= 2) {
            carried other = __shfl_up_sync(EVERY_LANE, sum, reach);
            if (lane >= reach) sum = combined(other, sum);
        }
        carried whole = __shfl_sync(EVERY_LANE, sum, WARPS - 1);
        carried earlier = __shfl_up_sync(EVERY_LANE, sum, 1);
        state_word* state = states + ((int64)ticket + WINDOW) * PIECES;
        struct carry prefix = nothing(), alone = nothing();
        alone.high = whole;
        if (tile > 0) {
            if (lane == 0) publish(state, alone, AGGREGATE);
            prefix = look_back(state, held);
        }
        if (lane == 0) publish(state, joined(prefix, whole), PREFIX);
        if (lane < WARPS) before[lane] = value_of(lane ? joined(prefix, earlier) : prefix);
    }
    __syncthreads();
    store_rows(&rows, before[warp], y + line * count, low, count);
}
