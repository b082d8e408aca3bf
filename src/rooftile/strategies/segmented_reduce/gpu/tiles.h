// Tiles of ITEMS items of the merged sequence (`merge.h`), PER for each of THREADS threads: where they
// begin, and how many of their ends are among their first items.
//
// tile_ends[tiles + 1] are ends before each tile.
// Grid: x over blocks of tiles.
// Block: x over THREADS threads.

#pragma once
#include "join.h"

#define ITEMS (THREADS * PER)

union slot {
    carried value;
    int end;
};
#define END(k) slots[ITEMS - 1 - (k)].end
#define MADE(k) slots[ITEMS - 1 - (k)].value

// Number of a tile's ends among its first items.
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

__global__ void KERNEL(partition)(
    const GLOBAL OFFSET* offsets, GLOBAL int64* tile_ends, int64 segments, int64 count, int tiles)
{
    int tile = blockIdx.x * THREADS + threadIdx.x;
    int64 items = (int64)tile * ITEMS, all = count + segments;
    if (tile <= tiles)
        tile_ends[tile] = ends_among(offsets, segments, count, items < all ? items : all);
}
