// Tiles of ITEMS items of the merged sequence (`merge.h`), PER for each of THREADS threads: where they
// begin, and what they lack of each other.
//
// tile_ends[tiles + 1] are ends before each tile, tails[tiles] what follows its last end,
// carries[tiles] what comes from tiles of the same span, and opens whether all of these count.
// Grid: x over blocks of tiles, or over spans of THREADS tiles.
// Block: x over THREADS threads.

#pragma once
#include "segmented_reduce/gpu/merge.h"

#define ITEMS (THREADS * PER)

union slot {
    carried value;
    int end;
};
#define END(k) slots[ITEMS - 1 - (k)].end
#define MADE(k) slots[ITEMS - 1 - (k)].value

// How many of a tile's ends are among its first items.
__device__ __forceinline__ int ends_in_tile(const SHARED union slot* slots, int elements, int ends,
                                            int items)
{
    int low = items > elements ? items - elements : 0, high = items < ends ? items : ends;
    while (low < high) {
        int middle = (low + high) / 2;
        if (END(middle) < items - middle)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__global__ void partition(const GLOBAL OFFSET* offsets, GLOBAL int64* tile_ends, int64 segments,
                          int64 count, int tiles)
{
    int tile = blockIdx.x * THREADS + threadIdx.x;
    int64 items = (int64)tile * ITEMS, all = count + segments;
    if (tile <= tiles)
        tile_ends[tile] = ends_among(offsets, segments, count, items < all ? items : all);
}

__global__ void LAUNCH_BOUNDS(THREADS)
join_tiles(const GLOBAL int64* tile_ends, const GLOBAL carried* tails, GLOBAL carried* carries,
           GLOBAL int* opens, GLOBAL carried* span_tails, GLOBAL int* span_ended, int tiles)
{
    __shared__ struct run runs[THREADS];
    int thread = threadIdx.x, tile = blockIdx.x * THREADS + thread;
    struct run own = {IDENTITY, 0};
    if (tile < tiles) {
        own.total = tails[tile];
        own.ended = tile_ends[tile + 1] > tile_ends[tile];
    }
    scan(runs, &own);
    if (tile < tiles) {
        carries[tile] = own.total;
        opens[tile] = !own.ended;
    }
    if (thread == THREADS - 1) {
        span_tails[blockIdx.x] = runs[thread].total;
        span_ended[blockIdx.x] = runs[thread].ended;
    }
}

// What tiles before this one have of the row or segment that it begins with; of a tile with ends.
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
