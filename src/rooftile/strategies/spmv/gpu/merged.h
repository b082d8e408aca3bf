// Products of entries, and the ends of rows, as tiles of one merged sequence: every warp and every
// thread takes as many items as another (`segmented_reduce/gpu/merge.h`).
//
// A tile is TEAM threads' work, and waits for nobody.  Its entries and ends lie in shared memory,
// entries from the front and ends from the back; an end's place takes its row's sum.  PER is odd, so
// that threads read different banks.  Behind a tile's last end stands one that is never reached; of
// the last tile zeros fill what is left.
//
// Where tiles begin comes with the matrix, or is found by `find_tiles`.  `sum_tiles` leaves a tile's
// results in y, but for its first row, which `finish_rows` finishes.  ADDS: y has what another
// format's kernel has put there, and the sums are added to it.
//
// values[entries], column_index[entries], row_offsets[rows + 1], x[columns], y[rows];
// tile_rows[tiles + 1] are rows that end before each tile, heads[tiles] the sums of first rows without
// what comes from tiles before, and tails[tiles] what follows the last end.
// Grid: x over TEAMS tiles, or over spans of SPAN tiles.
// Block: x over the TEAM threads of a tile and y over TEAMS tiles, or x over SPAN threads.

#pragma once
#include "common/pipelines/pdl.h"
#include "spmv.h"
#include "segmented_reduce/gpu/merge.h"

// A warp's threads wait for no other warp's.
#ifdef __OPENCL_VERSION__
#define AWAIT_TEAM() __syncthreads()
#else
#define AWAIT_TEAM() __syncwarp()
#endif

#define TEAM 32
#define ITEMS (TEAM * PER)
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

__global__ void LAUNCH_BOUNDS(SPAN)
KERNEL(find_tiles)(
    const GLOBAL INDEX* __restrict__ row_offsets, GLOBAL INDEX* __restrict__ tile_rows, int64 rows,
    int64 entries, int tiles)
{
    int tile = blockIdx.x * SPAN + threadIdx.x;
    int64 items = (int64)tile * ITEMS, all = entries + rows;
    if (tile <= tiles)
        tile_rows[tile] = (INDEX)ends_among(row_offsets, rows, entries, items < all ? items : all);
}

// Number of a tile's ends among its first items.
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

// Walks through a thread's items, puts sums in the places of their ends, and returns how many ends it
// met.  `head` is the first sum, which lacks what threads before have; `total` follows the last end.
__device__ __forceinline__ int sum_items(SHARED union slot* slots, int begin, carried* head,
                                         carried* total)
{
    int k = begin, e = threadIdx.x * PER - k, end = END(k);
    // Nobody looks for ends any more when the first of them gives its place to a sum.
    AWAIT_TEAM();
    UNROLL
    for (int i = 0; i < PER; i++) {
        bool ended = e >= end;
        carried next = slots[e].value;
        if (ended && k > begin) MADE(k) = *total;
        *head = ended && k == begin ? *total : *head;
        *total = ended ? 0 : *total + next;
        k += ended;
        e += !ended;
        if (ended) end = END(k);
    }
    return k - begin;
}

__global__ void LAUNCH_BOUNDS(TEAM * TEAMS)
KERNEL(sum_tiles)(
    const GLOBAL given* __restrict__ values, const GLOBAL INDEX* __restrict__ column_index,
    const GLOBAL INDEX* __restrict__ row_offsets,
    const GLOBAL carried* __restrict__ x UPDATE_ARGUMENTS, GLOBAL carried* y,
    const GLOBAL INDEX* __restrict__ tile_rows, GLOBAL carried* __restrict__ heads,
    GLOBAL carried* __restrict__ tails, int64 rows, int64 entries, int tiles)
{
    __shared__ union slot every_slots[TEAMS][ITEMS + 1];
    __shared__ struct run every_runs[TEAMS][TEAM];
    SHARED union slot* slots = every_slots[threadIdx.y];
    SHARED struct run* runs = every_runs[threadIdx.y];
    int thread = threadIdx.x, tile = blockIdx.x * TEAMS + threadIdx.y;
    GRIDDEPCONTROL_LAUNCH();
    // Tiles behind the last one are empty.
    int64 all = entries + rows, items = (int64)tile * ITEMS < all ? (int64)tile * ITEMS : all;
    int64 row = tile_rows[tile < tiles ? tile : tiles], entry = items - row;
    int ends = (int)(tile_rows[tile < tiles ? tile + 1 : tiles] - row);
    int elements = (int)(all - items < ITEMS ? all - items : ITEMS) - ends;

    given value[PER];
    INDEX column[PER];
    if (entry + ITEMS <= entries) {
        // Of what tiles behind this one have nothing is used.
        UNROLL
        for (int i = 0; i < PER; i++) column[i] = ONCE(column_index + entry + thread + i * TEAM);
        UNROLL
        for (int i = 0; i < PER; i++) value[i] = ONCE(values + entry + thread + i * TEAM);
    } else {
        UNROLL
        for (int i = 0; i < PER; i++) {
            int64 e = entry + i * TEAM + thread;
            value[i] = values[e < entries ? e : entries - 1];
            column[i] = column_index[e < entries ? e : entries - 1];
        }
    }
    ROLLED
    for (int k = thread; k < ends; k += TEAM) END(k) = (int)(row_offsets[row + k + 1] - entry);
    if (thread == 0) END(ends) = NEVER;
    carried factor[PER];
    UNROLL
    for (int i = 0; i < PER; i++) factor[i] = x[i * TEAM + thread < elements ? column[i] : 0];
    UNROLL
    for (int i = 0; i < PER; i++) {
        int e = i * TEAM + thread;
        carried own = product(taken(value[i]), factor[i]);
        if (e < ITEMS - ends) slots[e].value = e < elements ? own : 0;
    }
    AWAIT_TEAM();

    int begin = ends_in_tile(slots, ends, thread * PER);
    carried head = 0, total = 0;
    bool ended = sum_items(slots, begin, &head, &total) > 0;
    struct run own = {total, ended};
    scan(runs, &own, TEAM);
    if (ended) MADE(begin) = own.total + head;
    AWAIT_TEAM();
    if (thread == 0 && tile < tiles) {
        tails[tile] = runs[TEAM - 1].total;
        if (ends > 0) heads[tile] = MADE(0);
    }
    // The part of the first row in earlier tiles is added later.
    for (int j = thread; j < ends; j += TEAM)
        if (j > 0) y[row + j] = FINISHED(row + j, RESULT_OF(row + j, MADE(j)));
}

// The first tile that has some of a span's first row.
__device__ __forceinline__ int first_of_row(const GLOBAL INDEX* tile_rows, int span)
{
    INDEX row = tile_rows[span];
    int low = 0, high = span;
    // Nearly always it is the tile before.
    if (span > 0 && tile_rows[span - 1] < row) low = high;
    while (low < high) {
        int middle = (low + high) / 2;
        if (tile_rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : 0;
}

__global__ void LAUNCH_BOUNDS(SPAN)
KERNEL(finish_rows)(const GLOBAL INDEX* __restrict__ tile_rows, const GLOBAL carried* heads,
                    const GLOBAL carried* tails UPDATE_ARGUMENTS, GLOBAL carried* y, int tiles)
{
    __shared__ struct run runs[SPAN];
    int span = blockIdx.x * SPAN, tile = span + threadIdx.x;
    // The tiles' first rows were known before the sums: they are read meanwhile. Heads and tails
    // are not `__restrict__`: such arrays the compiler may read before it has waited.
    int64 row = tile_rows[tile < tiles ? tile : tiles];
    bool ends = tile_rows[tile < tiles ? tile + 1 : tiles] > row;
    int first = first_of_row(tile_rows, span);
    GRIDDEPCONTROL_WAIT();
    struct run own = {tile < tiles ? tails[tile] : 0, ends}, others = {0, 0};
    carried head = ends ? heads[tile] : 0;
    for (int t = first + threadIdx.x; t < span; t += SPAN) others.total += tails[t];
    scan(runs, &others, SPAN);
    carried before = runs[SPAN - 1].total;
    __syncthreads();
    scan(runs, &own, SPAN);
    carried total = (own.ended ? own.total : before + own.total) + head;
    if (ends) y[row] = FINISHED(row, RESULT_OF(row, total));
}
