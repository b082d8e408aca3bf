// waves: a single pass of resident blocks, whose warps have a job each.
//
// As scan's rung of this name (`common/waves.h`). A warp has pieces of 32 times 32 elements; lane r
// knows which of the r-th 32 are kept. Rows leave one by one, straight from the stage: a row's kept
// elements are adjacent in y. Gathering a piece first took memory that stages need.
// What it removes: waiting with nothing in flight.
//
// x[count], mask[count], y[count], kept[1], states[tiles].
// Grid: x over ALL blocks, launched together.
// Block: x over WARPS warps that move, WARPS that count, and three.

#define WARPS (THREADS / 32)
#define FAMILY waves
#include "counts.h"
#include "flags.h"
#include "items.h"
#include "common/wave_tiles.h"

#define PIECE 1024
#define TILE (WARPS * PIECE)
#define FLAGS (TILE * SIZE)
#define STAGE_BYTES (TILE * (SIZE + 1))

// One thread: fills stages with elements and flags of tiles, as far as these have whole vectors.
__device__ __forceinline__ void load_tiles(unsigned stages, unsigned ring, const item* x,
                                           const unsigned char* mask, int64 tiles, int64 count)
{
    struct pipeline_state now = {0, 0};
    for (int64 tile = blockIdx.x; tile < tiles; tile += ALL) {
        int64 low = tile * TILE, left = count - low;
        unsigned whole = (unsigned)(left < TILE ? left : TILE) / 16 * 16;
        unsigned full = BARRIER(ring, FULL, now.stage), to = stages + now.stage * STAGE_BYTES;
        barrier_wait(BARRIER(ring, EMPTY, now.stage), now.phase ^ 1);
        arrive_and_expect_tx(whole * (SIZE + 1), full);
        if (whole) {
            tma_load_1d(to + FLAGS, mask + low, whole, full);
            tma_load_1d(to, x + low, whole * SIZE, full);
        }
        advance(&now, STAGES);
    }
}

// Brings the elements behind the last whole vectors, where they are of this warp's piece.
__device__ __forceinline__ void bring_rest(char* stage, int warp, const item* x,
                                           const unsigned char* mask, int64 low, int64 count)
{
    int64 left = count - low, at = left / 16 * 16 + threadIdx.x % 32;
    if (left < TILE && left / 16 * 16 / PIECE == warp && at < left) {
        ((item*)stage)[at] = x[low + at];
        ((unsigned char*)stage)[FLAGS + at] = mask[low + at];
    }
    __syncwarp();
}

// Which of a lane's 32 elements are kept.
__device__ __forceinline__ unsigned kept_bits(const char* stage, int warp, int64 left)
{
    int first = warp * PIECE + threadIdx.x % 32 * 32;
    const uint4* flags = (const uint4*)(stage + FLAGS + first);
    unsigned bits = 0;
    UNROLL for (int k = 0; k < 2; k++) {
        uint4 some = flags[k];
        unsigned low = bits_of(some.x) | bits_of(some.y) << 4;
        bits |= (low | bits_of(some.z) << 8 | bits_of(some.w) << 12) << 16 * k;
    }
    left -= first;
    return left >= 32 ? bits : left <= 0 ? 0 : bits & ((1u << left) - 1);
}

// WARPS warps: how many each one's piece keeps, and which.
__device__ __forceinline__ void count_tiles(carried (*totals)[WARPS], unsigned (*bits)[THREADS],
                                            char* stages, unsigned ring, const item* x,
                                            const unsigned char* mask, int64 tiles, int64 count)
{
    struct pipeline_state now = {0, 0};
    int thread = threadIdx.x - THREADS, warp = thread / 32;
    for (int64 tile = blockIdx.x; tile < tiles; tile += ALL) {
        char* stage = stages + now.stage * STAGE_BYTES;
        barrier_wait(BARRIER(ring, FULL, now.stage), now.phase);
        bring_rest(stage, warp, x, mask, tile * TILE, count);
        unsigned own = kept_bits(stage, warp, count - tile * TILE);
        bits[now.stage][thread] = own;
        carried all = of_lanes(__popc(own));
        if (thread % 32 == 0) totals[now.stage][warp] = all;
        barrier_arrive(BARRIER(ring, SUMMED, now.stage));
        advance(&now, STAGES);
    }
}

// Stores what a piece keeps, row by row; returns behind the last.
__device__ __forceinline__ item* put(item* to, const item* piece, unsigned bits)
{
    int lane = threadIdx.x % 32, own = __popc(bits), sum = own;
    UNROLL for (int reach = 1; reach < 32; reach *= 2) {
        int other = __shfl_up_sync(EVERY_LANE, sum, reach);
        if (lane >= reach) sum += other;
    }
    unsigned under = (1u << lane) - 1;
    UNROLL for (int row = 0; row < 32; row++) {
        unsigned here = __shfl_sync(EVERY_LANE, bits, row);
        int at = __shfl_sync(EVERY_LANE, sum - own, row) + __popc(here & under);
        if (here >> lane & 1) to[at] = piece[32 * row + lane];
    }
    return to + __shfl_sync(EVERY_LANE, sum, 31);
}

// WARPS warps: move what pieces keep.
__device__ __forceinline__ void move_tiles(const char* stages, const carried (*before)[WARPS],
                                           const unsigned (*bits)[THREADS], unsigned ring, item* y,
                                           int64* kept, int64 tiles)
{
    struct pipeline_state now = {0, 0};
    int warp = threadIdx.x / 32;
    for (int64 tile = blockIdx.x; tile < tiles; tile += ALL) {
        barrier_wait(BARRIER(ring, FULL, now.stage), now.phase);
        barrier_wait(BARRIER(ring, KNOWN, now.stage), now.phase);
        const item* piece = (const item*)(stages + now.stage * STAGE_BYTES) + warp * PIECE;
        item* end = put(y + before[now.stage][warp], piece, bits[now.stage][threadIdx.x]);
        barrier_arrive(BARRIER(ring, EMPTY, now.stage));
        if (tile == tiles - 1 && threadIdx.x == THREADS - 1) *kept = end - y;
        advance(&now, STAGES);
    }
}

__global__ __launch_bounds__(2 * THREADS + 96, BLOCKS) void waves(
    const item* __restrict__ x, const unsigned char* __restrict__ mask, item* __restrict__ y,
    int64* __restrict__ kept, word* states, int64 tiles, int64 count)
{
    SHARED_ARRAY(char, stages);
    __shared__ word events[EVENTS * STAGES];
    __shared__ carried totals[STAGES][WARPS], before[STAGES][WARPS];
    __shared__ unsigned bits[STAGES][THREADS];
    unsigned ring = (unsigned)__cvta_generic_to_shared(events);
    int warp = threadIdx.x / 32;
    if (threadIdx.x == 0) init_pipeline(ring, 1);
    __syncthreads();
    if (warp < WARPS) move_tiles(stages, before, bits, ring, y, kept, tiles);
    else if (warp < 2 * WARPS) count_tiles(totals, bits, stages, ring, x, mask, tiles, count);
    else if (warp == 2 * WARPS) publish_tiles(totals, 0, ring, states, tiles);
    else if (warp == 2 * WARPS + 1) look_up_tiles(before, totals, 0, ring, states, tiles);
    else if (threadIdx.x % 32 == 0)
        load_tiles((unsigned)__cvta_generic_to_shared(stages), ring, x, mask, tiles, count);
}
