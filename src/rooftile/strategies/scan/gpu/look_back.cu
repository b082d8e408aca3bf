// look_back: a single pass; each tile looks back at those before it for what they come to.
//
// A block takes the next tile by an atomic counter, so that all tiles before it have been begun by
// blocks that run: nobody waits for a block that waits for room.  It publishes what its tile comes
// to, and a warp looks back (`common/states.h`).  What it removes: the second read of x.
//
// x[lines][count], y[lines][count], states[32 + groups + lines * tiles][PIECES], tickets[1].
// Grid: x over the tiles of all lines.
// Block: x over WARPS warps.

#define STREAMED 1
#define FAMILY look_back
#include "tile.h"
#include "common/states.h"

#define WARPS (THREADS / 32)
#define TILE (WARPS * ROWS * SPAN)

__device__ __forceinline__ int64 line_of(unsigned ticket, int64 tiles)
{
    return ticket / (unsigned)tiles;
}

// The first element of this thread's warp in the line.
__device__ __forceinline__ int64 low_of(unsigned ticket, int64 tiles)
{
    int64 tile = ticket % (unsigned)tiles;
    int warp = threadIdx.x / 32;
    return (REVERSE ? tiles - 1 - tile : tile) * TILE +
           (REVERSE ? WARPS - 1 - warp : warp) * (ROWS * SPAN);
}

__global__ RESIDENT_BOUNDS(THREADS, BLOCKS) void look_back(
    const given* __restrict__ x, result* __restrict__ y, state_word* states, unsigned* tickets,
    int64 tiles, int64 groups, int64 count)
{
    __shared__ struct carry held[MEMBERS];
    __shared__ carried totals[WARPS], before[WARPS];
    __shared__ unsigned ticket;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1u);
    __syncthreads();
    struct rows rows;
    load_rows(&rows, x + line_of(ticket, tiles) * count, low_of(ticket, tiles), count);
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
        bool first = ticket % (unsigned)tiles == 0;
        if (lane == 0) publish_tile(states, groups, ticket, whole, first);
        struct carry prefix = look_back_from(states, groups, ticket, whole, first, held);
        if (first) prefix = nothing();
        if (lane < WARPS) before[lane] = value_of(lane ? joined(prefix, earlier) : prefix);
    }
    __syncthreads();
    // Places are found again: while a tile waits, registers are short.
    store_rows(&rows, before[warp], y + line_of(ticket, tiles) * count, low_of(ticket, tiles), count);
}
