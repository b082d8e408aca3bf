// The join of segments across tiles: a segment may begin in one and end in another.
//
// tile_ends[tiles + 1] are ends before each tile, heads[tiles] first results without their part in
// earlier tiles, tails[tiles] the elements after a tile's last end, carries[tiles] the part from
// tiles of the same span, and opens 1 where all of these count.
// Grid: x over spans of THREADS tiles.
// Block: x over THREADS threads.

#pragma once
#include "segmented_reduce/gpu/merge.h"

__global__ void LAUNCH_BOUNDS(THREADS)
KERNEL(join_tiles)(
    const GLOBAL int64* tile_ends, const GLOBAL carried* tails, GLOBAL carried* carries,
    GLOBAL int* opens, GLOBAL carried* span_tails, GLOBAL int* span_ended, int tiles)
{
    __shared__ struct run runs[THREADS];
    int thread = threadIdx.x, tile = blockIdx.x * THREADS + thread;
    struct run own = {IDENTITY, 0};
    if (tile < tiles) {
        own.total = tails[tile];
        own.ended = tile_ends[tile + 1] > tile_ends[tile];
    }
    scan(runs, &own, THREADS);
    if (tile < tiles) {
        carries[tile] = own.total;
        opens[tile] = !own.ended;
    }
    if (thread == THREADS - 1) {
        span_tails[blockIdx.x] = runs[thread].total;
        span_ended[blockIdx.x] = runs[thread].ended;
    }
}

// The part in earlier tiles of the row or segment that a tile begins with; for a tile with ends.
__device__ __forceinline__ carried carry_into(int tile, const GLOBAL carried* carries,
                                              const GLOBAL int* opens,
                                              const GLOBAL carried* span_tails,
                                              const GLOBAL int* span_ended)
{
    carried carry = carries[tile];
    if (opens[tile])
        for (int span = tile / THREADS - 1; span >= 0; span--) {
            carry = combined(span_tails[span], carry);
            if (span_ended[span]) break;
        }
    return carry;
}

__global__ void LAUNCH_BOUNDS(THREADS)
KERNEL(first_results)(const GLOBAL int64* tile_ends, const GLOBAL carried* heads,
                      const GLOBAL carried* carries, const GLOBAL int* opens,
                      const GLOBAL carried* span_tails, const GLOBAL int* span_ended,
                      GLOBAL result* results, int tiles)
{
    int tile = blockIdx.x * THREADS + threadIdx.x;
    if (tile >= tiles || tile_ends[tile + 1] == tile_ends[tile]) return;
    carried carry = carry_into(tile, carries, opens, span_tails, span_ended);
    results[tile_ends[tile]] = stored(combined(carry, heads[tile]));
}
