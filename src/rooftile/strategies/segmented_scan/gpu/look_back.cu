// look_back: a single pass; tiles look back only as far as the last segment's beginning.
//
// As scan's rung of this name, with a bit for each element at which a segment begins.  What crosses
// such a bit is cut off: within a vector, between lanes, rows and warps, and between tiles: the sum
// behind a tile's last beginning is final at once, and nobody has to look further back.
//
// x[count], offsets[segments + 1], y[count], firsts[tiles + 1],
// states[32 + groups + tiles][PIECES], tickets[1].
// Grid: x over tiles.
// Block: x over WARPS warps.

#define STREAMED 1
#define FAMILY look_back
#include "scan/gpu/tile.h"
#include "common/states.h"

#define WARPS (THREADS / 32)
#define TILE (WARPS * ROWS * SPAN)
typedef OFFSET offset;
#include "cuts.h"

__global__ RESIDENT_BOUNDS(THREADS, BLOCKS) void look_back(
    const given* __restrict__ x, const offset* __restrict__ offsets, result* __restrict__ y,
    const int64* __restrict__ firsts, state_word* states, unsigned* tickets, int64 groups,
    int64 count)
{
    __shared__ unsigned heads[TILE / 32];
    __shared__ struct carry held[MEMBERS];
    __shared__ carried totals[WARPS], before[WARPS];
    __shared__ unsigned cut_warps[WARPS], ticket;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1u);
    __syncthreads();
    int64 tile = ticket, low = tile * TILE + warp * (ROWS * SPAN);
    struct rows rows;
    struct cuts cuts;
    load_rows(&rows, x, low, count);
    mark_heads(heads, offsets, firsts, tile);
    load_cuts(&cuts, heads, warp * (ROWS * SPAN));
    carried all = scan_cut_rows(&rows, &cuts);
    unsigned cut = 0;
    UNROLL for (int row = 0; row < ROWS; row++) cut |= cuts.lanes[row];
    if (lane == 0) totals[warp] = all, cut_warps[warp] = cut;
    __syncthreads();
    if (warp == 0) {
        unsigned begins = __ballot_sync(EVERY_LANE, lane < WARPS && cut_warps[lane]);
        unsigned up_to = 0xffffffffu >> (31 - lane);
        int first = 31 - __clz((begins & up_to) | 1);
        carried sum = lane < WARPS ? totals[lane] : IDENTITY;
        UNROLL for (int reach = 1; reach < WARPS; reach *= 2) {
            carried other = __shfl_up_sync(EVERY_LANE, sum, reach);
            if (lane - reach >= first) sum = combined(other, sum);
        }
        carried whole = __shfl_sync(EVERY_LANE, sum, WARPS - 1);
        carried earlier = __shfl_up_sync(EVERY_LANE, sum, 1);
        if (lane == 0) publish_tile(states, groups, tile, whole, begins != 0);
        struct carry prefix = look_back_from(states, groups, tile, whole, begins != 0, held);
        bool open = (begins & up_to >> 1) == 0;
        if (lane == 0) before[0] = value_of(prefix);
        else if (lane < WARPS) before[lane] = open ? value_of(joined(prefix, earlier)) : earlier;
    }
    __syncthreads();
    // They are loaded again: while a tile waits, registers are short.
    load_cuts(&cuts, heads, warp * (ROWS * SPAN));
    store_cut_rows(&rows, &cuts, before[warp], y, low, count);
}
