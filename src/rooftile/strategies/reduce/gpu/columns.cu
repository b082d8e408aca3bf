// columns: an axis that is not the last; a thread's elements are in neighbouring columns.
//
// The other rungs give a thread elements of one result, which are `inner` apart here, so that a
// warp reads a sector for each of its threads. Here neighbouring threads take neighbouring columns,
// a vector each, and walk down with LOADS rows in flight; where a row is short, a block takes
// several at a time. What it removes: reads far apart.
//
// Every LOADS rows are joined first, then ROUNDS of those, so that no chain of additions is long.
//
// x[slabs][columns][inner], partials[slabs][segments][inner]; a row of x has inner / VECTOR
// vectors.
// Grid: x over runs of `across` vectors of a row, y over segments of all rows, z over slabs.
// Block: x over THREADS threads: `across` of them across, and as many rows as fit.

#include "common/pipelines/pdl.h"
#include "common/pieces.h"
#include "reduce.h"

#define ROUNDS 16

__device__ __forceinline__ void combine(carried* left, const carried* right)
{
    UNROLL
    for (int e = 0; e < VECTOR; e++) left[e] = combined(left[e], right[e]);
}

__device__ __forceinline__ void forget(carried* totals)
{
    UNROLL
    for (int e = 0; e < VECTOR; e++) totals[e] = IDENTITY;
}

// Joins the rows `row`, `row` + down and so on below `last`, at most LOADS of them, to `totals`.
__device__ __forceinline__ void join_rows(carried* totals, const GLOBAL vector* x, int64 row,
                                          int64 last, int down, int64 pitch)
{
    vector loaded[LOADS];
    carried own[LOADS][VECTOR];
    UNROLL
    for (int i = 0; i < LOADS; i++)
        if (row + i * down < last) loaded[i] = x[(row + i * down) * pitch];
    UNROLL
    for (int i = 0; i < LOADS; i++) {
        UNROLL
        for (int e = 0; e < VECTOR; e++)
            own[i][e] = row + i * down < last ? piece(loaded[i], e) : IDENTITY;
    }
    UNROLL
    for (int reach = LOADS / 2; reach > 0; reach /= 2) {
        UNROLL
        for (int i = 0; i < reach; i++) combine(own[i], own[i + reach]);
    }
    combine(totals, own[0]);
}

// The totals of threads `across` apart in the first of them; `joined` has a place for each thread.
__device__ __forceinline__ void join_threads(SHARED carried* joined, carried* totals, int across,
                                             int down)
{
    int thread = threadIdx.x, row = thread / across;
    for (int e = 0; e < VECTOR; e++) {
        __syncthreads();
        joined[thread] = totals[e];
        for (int left = down; left > 1; left = (left + 1) / 2) {
            __syncthreads();
            int other = row + (left + 1) / 2;
            if (other < left)
                joined[thread] = combined(joined[thread], joined[thread + (other - row) * across]);
        }
        totals[e] = joined[thread];
    }
}

__global__ void LAUNCH_BOUNDS(THREADS)
columns(const GLOBAL given* x, GLOBAL kept* __restrict__ partials, int slabs, int64 columns,
        int64 inner, int across)
{
    __shared__ carried joined[THREADS];
    GRIDDEPCONTROL_WAIT();
    int down = THREADS / across, row = threadIdx.x / across, lane = threadIdx.x % across;
    int64 pitch = inner / VECTOR, column = (int64)blockIdx.x * across + lane;
    int64 first = columns * blockIdx.y / gridDim.y, last = columns * (blockIdx.y + 1) / gridDim.y;
    // Threads without a column, and those beyond the last whole row of threads, join nothing.
    if (column >= pitch || row >= down) first = last;
    for (int slab = blockIdx.z; slab < slabs; slab += gridDim.z) {
        const GLOBAL vector* vectors = (const GLOBAL vector*)x + slab * columns * pitch + column;
        carried totals[VECTOR], block[VECTOR];
        forget(totals);
        forget(block);
        int round = 0;
        for (int64 at = first + row; at < last; at += LOADS * down) {
            join_rows(block, vectors, at, last, down, pitch);
            if (++round % ROUNDS == 0) {
                combine(totals, block);
                forget(block);
            }
        }
        combine(totals, block);
        if (down > 1) join_threads(joined, totals, across, down);
        if (row == 0 && column < pitch)
            for (int e = 0; e < VECTOR; e++)
                partials[(slab * (int64)gridDim.y + blockIdx.y) * inner + column * VECTOR + e] =
                    KEPT(totals[e]);
    }
}

// partials[slabs][segments][inner], results[slabs][inner].
// Grid: x over runs of 32 results, y over slabs.
// Block: x over 256 threads: 32 results, and eight shares of their segments.
__global__ void LAUNCH_BOUNDS(256)
columns_finish_columns(const GLOBAL carried* partials, GLOBAL result* __restrict__ results,
                       int slabs, int segments, int64 inner)
{
    __shared__ carried joined[256];
    GRIDDEPCONTROL_WAIT();
    int thread = threadIdx.x, share = thread / 32;
    int64 column = (int64)blockIdx.x * 32 + thread % 32;
    for (int slab = blockIdx.y; slab < slabs; slab += gridDim.y) {
        carried total = IDENTITY;
        if (column < inner)
            for (int j = share; j < segments; j += 8)
                total = combined(total, partials[((int64)slab * segments + j) * inner + column]);
        joined[thread] = total;
        for (int reach = 4; reach > 0; reach /= 2) {
            __syncthreads();
            if (share < reach)
                joined[thread] = combined(joined[thread], joined[thread + 32 * reach]);
        }
        if (share == 0 && column < inner) results[slab * inner + column] = stored(joined[thread]);
        // The next slab's values overwrite what this one's tree has read.
        __syncthreads();
    }
}
