// Products of entries, and the ends of rows, as tiles of one merged sequence: every thread takes as
// many as another (`segmented_reduce/gpu/tiles.h`).
//
// `values_of_tile` leaves a tile's results in y, but for its first row, which `first_rows` finishes.
// ADDS: y has what another format's kernel has put there, and the sums are added to it.
//
// values[entries], column_index[entries], row_offsets[rows + 1], x[columns], y[rows]; heads[tiles] are
// first results without what comes from tiles before.

#pragma once
#include "spmv.h"
#include "segmented_reduce/gpu/tiles.h"

#if ADDS
#define RESULT_OF(row, total) (y[row] + (total))
#else
#define RESULT_OF(row, total) (total)
#endif

__global__ void LAUNCH_BOUNDS(THREADS)
sum_tiles(const GLOBAL given* __restrict__ values, const GLOBAL INDEX* __restrict__ column_index,
          const GLOBAL INDEX* __restrict__ row_offsets,
          const GLOBAL carried* __restrict__ x UPDATE_ARGUMENTS, GLOBAL carried* y,
          const GLOBAL int64* __restrict__ tile_ends, GLOBAL carried* __restrict__ heads,
          GLOBAL carried* __restrict__ tails, int64 rows, int64 entries)
{
    __shared__ union slot slots[ITEMS];
    __shared__ struct run runs[THREADS];
    __shared__ int firsts[THREADS + 1];
    int thread = threadIdx.x;
    int64 items = (int64)blockIdx.x * ITEMS, all = entries + rows;
    int64 row = tile_ends[blockIdx.x], entry = items - row;
    int ends = (int)(tile_ends[blockIdx.x + 1] - row);
    int elements = (int)(all - items < ITEMS ? all - items : ITEMS) - ends;

    UNROLL
    for (int i = 0; i < PER; i++) {
        int e = i * THREADS + thread;
        if (e < elements)
            slots[e].value = product(values[entry + e], x, column_index[entry + e]);
    }
    for (int k = thread; k < ends; k += THREADS) END(k) = (int)(row_offsets[row + k + 1] - entry);
    __syncthreads();

    int first = thread * PER < elements + ends ? thread * PER : elements + ends;
    int k = ends_in_tile(slots, elements, ends, first);
    firsts[thread] = k;
    if (thread == 0) firsts[THREADS] = ends;
    __syncthreads();
    int e = first - k, begin = k, last = firsts[thread + 1];
    int stop = (first + PER < elements + ends ? first + PER : elements + ends) - last;
    struct run own = {0, last > k};
    carried head = 0;
    for (; k < last; k++) {
        for (int end = END(k); e < end; e++) own.total += slots[e].value;
        if (k == begin)
            head = own.total;
        else
            MADE(k) = own.total;
        own.total = 0;
    }
    for (; e < stop; e++) own.total += slots[e].value;

    scan(runs, &own);
    if (last > begin) MADE(begin) = own.total + head;
    if (thread == THREADS - 1) tails[blockIdx.x] = runs[thread].total;
    __syncthreads();
    if (thread == 0 && ends > 0) heads[blockIdx.x] = MADE(0);
    // What tiles before have of the first row is still to come.
    for (int j = thread + 1; j < ends; j += THREADS)
        y[row + j] = FINISHED(row + j, RESULT_OF(row + j, MADE(j)));
}

__global__ void LAUNCH_BOUNDS(THREADS)
first_rows(const GLOBAL int64* tile_ends, const GLOBAL carried* heads, const GLOBAL carried* carries,
           const GLOBAL int* opens, const GLOBAL carried* span_tails,
           const GLOBAL int* span_ended UPDATE_ARGUMENTS, GLOBAL carried* y, int tiles)
{
    int tile = blockIdx.x * THREADS + threadIdx.x;
    if (tile >= tiles || tile_ends[tile + 1] == tile_ends[tile]) return;
    int64 row = tile_ends[tile];
    carried total = carry_into(tile, carries, opens, span_tails, span_ended) + heads[tile];
    y[row] = FINISHED(row, RESULT_OF(row, total));
}
