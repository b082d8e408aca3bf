// columns: an axis that is not the last; a thread's elements are in neighbouring columns.
//
// The other rungs give a thread elements of one result, which are `inner` apart here, so that a
// warp reads a sector for each of its threads. Here neighbouring threads take neighbouring columns,
// a vector each, and walk down with LOADS rows in flight; where a row is short, a block takes
// several at a time. What it removes: reads far apart.
//
// x[slabs][columns][inner], values and places[slabs][segments][inner]; a row of x has inner / VECTOR
// vectors.
// Grid: x over runs of `across` vectors of a row, y over segments of all rows, z over slabs.
// Block: x over THREADS threads: `across` of them across, and as many rows as fit.

#define FAMILY columns
#include "common/pieces.h"
#include "finish.h"

// The first of threads `across` apart, in the first of them; both arrays have a place for each.
__device__ __forceinline__ struct found of_threads(SHARED carried* values, SHARED int64* places,
                                                   int across, int down, struct found own)
{
    int thread = threadIdx.x, row = thread / across;
    __syncthreads();
    values[thread] = own.value;
    places[thread] = own.place;
    for (int left = down; left > 1; left = (left + 1) / 2) {
        __syncthreads();
        int reach = (left + 1) / 2;
        if (row + reach < left) {
            int other = thread + reach * across;
            struct found found = {values[other], places[other]};
            own = first_of(own, found);
            values[thread] = own.value;
            places[thread] = own.place;
        }
    }
    return own;
}

__global__ void LAUNCH_BOUNDS(THREADS)
columns(const GLOBAL given* __restrict__ x, GLOBAL carried* __restrict__ values,
        GLOBAL int64* __restrict__ places, int slabs, int columns, int64 inner, int across)
{
    __shared__ carried joined[THREADS];
    __shared__ int64 joined_places[THREADS];
    int down = THREADS / across, row = threadIdx.x / across, lane = threadIdx.x % across;
    int64 pitch = inner / VECTOR, column = (int64)blockIdx.x * across + lane;
    int first = (int64)columns * blockIdx.y / gridDim.y + row;
    int last = (int64)columns * (blockIdx.y + 1) / gridDim.y;
    // Threads without a column, and those beyond the last whole row of threads, find nothing.
    if (column >= pitch || row >= down) last = first;
    for (int slab = blockIdx.z; slab < slabs; slab += gridDim.z) {
        const GLOBAL vector* vectors = (const GLOBAL vector*)x + slab * columns * pitch + column;
        carried best[VECTOR];
        int place[VECTOR];
        UNROLL
        for (int e = 0; e < VECTOR; e++) {
            best[e] = IDENTITY;
            place[e] = first;
        }
        for (int at = first; at < last; at += LOADS * down) {
            vector loaded[LOADS];
            UNROLL
            for (int i = 0; i < LOADS; i++)
                if (at + i * down < last) loaded[i] = vectors[(at + i * down) * pitch];
            UNROLL
            for (int i = 0; i < LOADS; i++)
                if (at + i * down < last) {
                    UNROLL
                    for (int e = 0; e < VECTOR; e++) {
                        carried value = piece(loaded[i], e);
                        if (better(value, best[e])) {
                            best[e] = value;
                            place[e] = at + i * down;
                        }
                    }
                }
        }
        for (int e = 0; e < VECTOR; e++) {
            struct found own = {best[e], first < last ? place[e] : NOWHERE};
            if (down > 1) own = of_threads(joined, joined_places, across, down, own);
            if (row == 0 && column < pitch)
                keep(values, places,
                     (slab * (int64)gridDim.y + blockIdx.y) * inner + column * VECTOR + e, own);
        }
    }
}
