// Rung 11, look_back: a single pass; each tile looks back at those before it for what they come to.
//
// A block takes the next tile by an atomic counter, so that all tiles before it have been begun by
// blocks that run: nobody waits for a block that waits for room.  It publishes what its tile comes
// to, and a warp looks back (`common/states.h`).  What it removes: the second read of x.
//
// x[lines][count], y[lines][count], states[32 + groups + lines * tiles][PIECES], tickets[1].
// Grid: x over the tiles of all lines.
// Block: x over WARPS warps.

#include "tile.h"
#include "common/states.h"

#define WARPS (THREADS / 32)
#define TILE (WARPS * ROWS * SPAN)

__global__ RESIDENT_BOUNDS(THREADS, BLOCKS) void scan_tiles(
    const given* __restrict__ x, result* __restrict__ y, state_word* states, unsigned* tickets,
    int64 tiles, int64 groups, int64 count)
{
    __shared__ struct carry held[MEMBERS];
    __shared__ carried totals[WARPS], before[WARPS];
    __shared__ unsigned ticket;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1u);
    __syncthreads();
    unsigned line = ticket / (unsigned)tiles, tile = ticket - line * (unsigned)tiles;
    int64 low = (int64)(REVERSE ? tiles - 1 - tile : tile) * TILE +
                (REVERSE ? WARPS - 1 - warp : warp) * (ROWS * SPAN);
    struct rows rows;
    load_rows(&rows, x + (int64)line * count, low, count);
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
        if (lane == 0) publish_tile(states, groups, ticket, whole, tile == 0);
        struct carry prefix = look_back(states, groups, ticket, whole, tile == 0, held);
        if (tile == 0) prefix = nothing();
        if (lane < WARPS) before[lane] = value_of(lane ? joined(prefix, earlier) : prefix);
    }
    __syncthreads();
    store_rows(&rows, before[warp], y + (int64)line * count, low, count);
}
