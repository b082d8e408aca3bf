// Products of entries, and the ends of rows, as tiles of one merged sequence: every block and every
// thread takes as many items as another (`segmented_reduce/gpu/merge.h`).
//
// Entries and ends lie in shared memory, entries from the front and ends from the back; an end's
// place takes its row's sum.  PER is odd, so that threads read different banks.  Behind a tile's last
// end stands one that is never reached; of the last tile zeros fill what is left.
//
// `sum_tiles` finds where its tile begins, by a thread or, TOGETHER, by half a block, and leaves the tile's results in y, but for its first row,
// which `finish_rows` finishes.  ADDS: y has what another format's kernel has put there, and the sums
// are added to it.
//
// values[entries], column_index[entries], row_offsets[rows + 1], x[columns], y[rows];
// tile_ends[tiles + 1] are ends before each tile, heads[tiles] the sums of first rows without what
// comes from tiles before, and tails[tiles] what follows the last end.
// Grid: x over tiles, or over spans of THREADS tiles.
// Block: x over THREADS threads.

#pragma once
#include "common/overlapping.h"
#include "spmv.h"
#include "segmented_reduce/gpu/merge.h"

#define ITEMS (THREADS * PER)
#define HALF (THREADS / 2)
#define NEVER 0x7fffffff

#if ADDS
#define RESULT_OF(row, total) (y[row] + (total))
#else
#define RESULT_OF(row, total) (total)
#endif

union slot {
    carried value;
    int end;
};
#define END(k) slots[ITEMS - (k)].end
#define MADE(k) slots[ITEMS - (k)].value

// How many of a tile's ends are among its first items.
__device__ __forceinline__ int ends_in_tile(const SHARED union slot* slots, int ends, int items)
{
    int elements = ITEMS - ends;
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

#if TOGETHER
// How many ends are among the items before a tile, and before the next one, see `ends_among`: each
// half of the block looks at HALF places at once, so that few loads wait for each other.
__device__ __forceinline__ void find_bounds(SHARED int64* bounds, SHARED int64 (*ranges)[2][2],
                                            const GLOBAL INDEX* row_offsets, int64 rows,
                                            int64 entries, int64 items)
{
    int side = threadIdx.x / HALF, place = threadIdx.x % HALF;
    int64 before = items + side * ITEMS, all = entries + rows;
    if (before > all) before = all;
    if (place == 0) {
        ranges[0][side][0] = before > entries ? before - entries : 0;
        ranges[0][side][1] = before < rows ? before : rows;
    }
    __syncthreads();
    int now = 0;
    while (ranges[now][0][0] < ranges[now][0][1] || ranges[now][1][0] < ranges[now][1][1]) {
        int64 low = ranges[now][side][0], high = ranges[now][side][1];
        int64 each = (high - low) / HALF + 1, end = low + (place + 1) * each - 1;
        int64 earlier = end - each;
        bool left = place == 0 || (earlier < high && row_offsets[earlier + 1] < before - earlier);
        bool own = end < high && row_offsets[end + 1] < before - end;
        if (left && !own) {
            ranges[1 - now][side][0] = end - each + 1;
            ranges[1 - now][side][1] = end < high ? end : high;
        }
        now = 1 - now;
        __syncthreads();
    }
    if (place == 0) bounds[side] = ranges[now][side][0];
    __syncthreads();
}
#endif

__global__ void LAUNCH_BOUNDS(THREADS)
sum_tiles(const GLOBAL given* __restrict__ values, const GLOBAL INDEX* __restrict__ column_index,
          const GLOBAL INDEX* __restrict__ row_offsets,
          const GLOBAL carried* __restrict__ x UPDATE_ARGUMENTS, GLOBAL carried* y,
          GLOBAL int64* __restrict__ tile_ends, GLOBAL carried* __restrict__ heads,
          GLOBAL carried* __restrict__ tails, int64 rows, int64 entries)
{
    __shared__ union slot slots[ITEMS + 1];
    __shared__ struct run runs[THREADS];
    __shared__ int64 bounds[2];
    int thread = threadIdx.x;
    LET_NEXT_BEGIN();
    int64 items = (int64)blockIdx.x * ITEMS, all = entries + rows;
#if TOGETHER
    __shared__ int64 ranges[2][2][2];
    find_bounds(bounds, ranges, row_offsets, rows, entries, items);
#else
    if (thread % HALF == 0) {
        int side = thread / HALF;
        int64 before = items + side * ITEMS;
        bounds[side] = ends_among(row_offsets, rows, entries, before < all ? before : all);
    }
    __syncthreads();
#endif
    int64 row = bounds[0], entry = items - row;
    int ends = (int)(bounds[1] - row);
    int elements = (int)(all - items < ITEMS ? all - items : ITEMS) - ends;

    given value[PER];
    INDEX column[PER];
    if (entry + ITEMS <= entries) {
        // Of what tiles behind this one have nothing is used.
        UNROLL
        for (int i = 0; i < PER; i++) {
            value[i] = ONCE(values + entry + thread + i * THREADS);
            column[i] = ONCE(column_index + entry + thread + i * THREADS);
        }
    } else {
        UNROLL
        for (int i = 0; i < PER; i++) {
            int64 e = entry + i * THREADS + thread;
            value[i] = values[e < entries ? e : entries - 1];
            column[i] = column_index[e < entries ? e : entries - 1];
        }
    }
    ROLLED
    for (int k = thread; k < ends; k += THREADS) END(k) = (int)(row_offsets[row + k + 1] - entry);
    if (thread == 0) END(ends) = NEVER;
    carried factor[PER];
    UNROLL
    for (int i = 0; i < PER; i++) factor[i] = x[i * THREADS + thread < elements ? column[i] : 0];
    UNROLL
    for (int i = 0; i < PER; i++) {
        int e = i * THREADS + thread;
        carried own = product(taken(value[i]), factor[i]);
        if (e < ITEMS - ends) slots[e].value = e < elements ? own : 0;
    }
    __syncthreads();

    int begin = ends_in_tile(slots, ends, thread * PER), k = begin, e = thread * PER - k;
    int end = END(k);
    // Nobody looks for ends any more when the first of them gives its place to a sum.
    __syncthreads();
    carried total = 0, head = 0;
    UNROLL
    for (int i = 0; i < PER; i++) {
        bool ended = e >= end;
        carried next = slots[e].value;
        if (ended && k > begin) MADE(k) = total;
        head = ended && k == begin ? total : head;
        total = ended ? 0 : total + next;
        k += ended;
        e += !ended;
        if (ended) end = END(k);
    }

    struct run own = {total, k > begin};
    scan(runs, &own);
    if (k > begin) MADE(begin) = own.total + head;
    __syncthreads();
    if (thread == 0) {
        tile_ends[blockIdx.x] = row;
        if (blockIdx.x == gridDim.x - 1) tile_ends[gridDim.x] = rows;
        tails[blockIdx.x] = runs[THREADS - 1].total;
        if (ends > 0) heads[blockIdx.x] = MADE(0);
    }
    // What tiles before have of the first row is still to come.
    for (int j = thread + 1; j < ends; j += THREADS)
        y[row + j] = FINISHED(row + j, RESULT_OF(row + j, MADE(j)));
}

// What each tile of a span leaves; beyond the last one nothing.
__device__ __forceinline__ struct run left_by(const GLOBAL int64* tile_ends,
                                              const GLOBAL carried* tails, int tile, int tiles)
{
    struct run own = {0, 0};
    if (tile < tiles) {
        own.total = tails[tile];
        own.ended = tile_ends[tile + 1] > tile_ends[tile];
    }
    return own;
}

__global__ void LAUNCH_BOUNDS(THREADS)
finish_rows(const GLOBAL int64* __restrict__ tile_ends, const GLOBAL carried* __restrict__ heads,
            const GLOBAL carried* __restrict__ tails UPDATE_ARGUMENTS, GLOBAL carried* y, int tiles)
{
    __shared__ struct run runs[THREADS];
    int tile = blockIdx.x * THREADS + threadIdx.x;
    AWAIT_EARLIER();
    struct run own = left_by(tile_ends, tails, tile, tiles);
    scan(runs, &own);
    // Only a span in which a row ends asks for what spans before it have.
    struct run before = {0, !runs[THREADS - 1].ended};
    for (int span = blockIdx.x - 1; span >= 0 && !before.ended; span--) {
        struct run other = left_by(tile_ends, tails, span * THREADS + threadIdx.x, tiles);
        __syncthreads();
        scan(runs, &other);
        before = after(runs[THREADS - 1], before);
    }
    if (tile >= tiles || tile_ends[tile + 1] == tile_ends[tile]) return;
    int64 row = tile_ends[tile];
    carried total = after(before, own).total + heads[tile];
    y[row] = FINISHED(row, RESULT_OF(row, total));
}
