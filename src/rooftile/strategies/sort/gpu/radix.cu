// radix: digits of 4 bits, the least significant first: histogram, scan, scatter.
//
// For each digit a tile counts the occurrences of each value, the counts of a line are scanned,
// value after value and tile after tile, and each tile moves its keys to the places of the scan.
// Before that a tile sorts its keys in shared memory, so that adjacent threads write adjacent keys.
// What it removes: the comparisons; a pass for each doubling becomes one for each digit, in which
// no read waits for another.
//
// A thread counts in a column of its own, so no atomics are needed, and equal digits keep the order
// of threads.
//
// x[outer][count][inner]; keys[lines][count] and along[lines][count] between two passes;
// totals[lines][VALUES_OF_DIGIT][tiles].
// Grid: x over the tiles of all lines; over lines.
// Block: x over BLOCK threads, for a tile of BLOCK RUN keys.

#include "keys.h"

#define VALUES_OF_DIGIT 16
#define DIGIT(key, shift) ((int)((key) >> (shift)) & (VALUES_OF_DIGIT - 1))
#define TILE (BLOCK * RUN)

__global__ void LAUNCH_BOUNDS(BLOCK)
radix_count_digits(
    const GLOBAL key* keys, GLOBAL unsigned* totals, int first, int shift, int64 count, int64 inner,
    int64 tiles)
{
    __shared__ unsigned counts[VALUES_OF_DIGIT][BLOCK];
    int64 line = blockIdx.x / tiles, tile = blockIdx.x % tiles;
    int thread = threadIdx.x;
    for (int digit = 0; digit < VALUES_OF_DIGIT; digit++) counts[digit][thread] = 0;
    for (int e = thread; e < TILE && tile * TILE + e < count; e += BLOCK)
        counts[DIGIT(key_at(keys, first, line, tile * TILE + e, count, inner), shift)][thread]++;
    for (int reach = BLOCK / 2; reach; reach /= 2) {
        __syncthreads();
        if (thread < reach)
            for (int digit = 0; digit < VALUES_OF_DIGIT; digit++)
                counts[digit][thread] += counts[digit][thread + reach];
    }
    __syncthreads();
    if (thread < VALUES_OF_DIGIT)
        totals[(line * VALUES_OF_DIGIT + thread) * tiles + tile] = counts[thread][0];
}

// Returns what is before this thread's number, and stores what all come to.
__device__ __forceinline__ unsigned before_thread(unsigned own, SHARED unsigned* sums,
                                                  unsigned* all)
{
    int thread = threadIdx.x;
    sums[thread] = own;
    for (int reach = 1; reach < BLOCK; reach *= 2) {
        __syncthreads();
        unsigned other = thread >= reach ? sums[thread - reach] : 0;
        __syncthreads();
        sums[thread] += other;
    }
    __syncthreads();
    *all = sums[BLOCK - 1];
    unsigned before = sums[thread] - own;
    __syncthreads();
    return before;
}

__global__ void LAUNCH_BOUNDS(BLOCK)
radix_scan_totals(GLOBAL unsigned* totals, int64 count)
{
    __shared__ unsigned sums[BLOCK];
    GLOBAL unsigned* own = totals + blockIdx.x * count;
    unsigned before = 0, all;
    for (int64 first = 0; first < count; first += BLOCK) {
        int64 at = first + threadIdx.x;
        unsigned one = at < count ? own[at] : 0;
        unsigned earlier = before_thread(one, sums, &all);
        if (at < count) own[at] = before + earlier;
        before += all;
    }
}

// The place in the tile of each thread's first key of each digit, from the threads' counts.
__device__ __forceinline__ void scan_counts(SHARED unsigned* counts, SHARED unsigned* sums)
{
    SHARED unsigned* own = counts + threadIdx.x * VALUES_OF_DIGIT;
    unsigned all, sum = 0;
    for (int k = 0; k < VALUES_OF_DIGIT; k++) sum += own[k];
    unsigned before = before_thread(sum, sums, &all);
    for (int k = 0; k < VALUES_OF_DIGIT; k++) {
        unsigned one = own[k];
        own[k] = before;
        before += one;
    }
    __syncthreads();
}

// Keys behind the last of the line are the last in the order, and stay where they are.
__global__ void LAUNCH_BOUNDS(BLOCK)
radix_move(
    const GLOBAL key* keys, const GLOBAL unsigned* along, GLOBAL key* to, GLOBAL unsigned* to_along,
    const GLOBAL unsigned* totals, int first, int last, int shift, int64 count, int64 inner,
    int64 tiles)
{
    __shared__ key tile_keys[TILE];
    __shared__ unsigned tile_along[GIVES == VALUES ? 1 : TILE];
    __shared__ unsigned counts[VALUES_OF_DIGIT * BLOCK], sums[BLOCK], starts[VALUES_OF_DIGIT];
    int64 line = blockIdx.x / tiles, tile = blockIdx.x % tiles;
    int thread = threadIdx.x;
    for (int e = thread; e < TILE; e += BLOCK) {
        int64 element = tile * TILE + e;
        int there = element < count;
        tile_keys[e] = there ? key_at(keys, first, line, element, count, inner) : EVERY;
        if (GIVES != VALUES)
            tile_along[e] = there ? along_at(along, first, line, element, count, inner) : 0;
    }
    for (int digit = 0; digit < VALUES_OF_DIGIT; digit++) counts[digit * BLOCK + thread] = 0;
    __syncthreads();
    key own[RUN];
    unsigned own_along[RUN];
    for (int e = 0; e < RUN; e++) {
        own[e] = tile_keys[thread * RUN + e];
        if (GIVES != VALUES) own_along[e] = tile_along[thread * RUN + e];
        counts[DIGIT(own[e], shift) * BLOCK + thread]++;
    }
    __syncthreads();
    scan_counts(counts, sums);
    if (thread < VALUES_OF_DIGIT) starts[thread] = counts[thread * BLOCK];
    __syncthreads();
    for (int e = 0; e < RUN; e++) {
        unsigned rank = counts[DIGIT(own[e], shift) * BLOCK + thread]++;
        tile_keys[rank] = own[e];
        if (GIVES != VALUES) tile_along[rank] = own_along[e];
    }
    __syncthreads();
    for (int e = thread; e < TILE && tile * TILE + e < count; e += BLOCK) {
        int digit = DIGIT(tile_keys[e], shift);
        int64 there = totals[(line * VALUES_OF_DIGIT + digit) * tiles + tile] + e - starts[digit];
        put(to, to_along, tile_keys[e], GIVES == VALUES ? 0 : tile_along[e], last, line, there,
            count, inner);
    }
}
