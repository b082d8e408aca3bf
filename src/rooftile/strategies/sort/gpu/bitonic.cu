// bitonic: a network for lines of any length, each step of which is a launch.
//
// Runs of SIZE elements become sorted by a first step, which compares each element with its mirror
// image in the run, and by steps that compare elements SIZE / 4, SIZE / 8, ... 1 apart.  All
// comparisons have one direction, so that elements beyond the end, which nobody stores, would stay
// where they are.  What it removes: the end of a block, which odd_even has.  What it costs:
// log2(count) (log2(count) + 1) / 2 passes over memory.
//
// x[outer][count][inner], keys[lines][count], along[lines][count]; results as x.
// Grid: x over blocks of all lines.
// Block: x over BLOCK elements.

#include "network.h"

// The keys of all elements, and where each is.
__global__ void LAUNCH_BOUNDS(BLOCK)
bitonic_begin(
    const GLOBAL key* x, GLOBAL key* keys, GLOBAL unsigned* along, int64 count, int64 inner)
{
    int64 blocks = (count + BLOCK - 1) / BLOCK, line = blockIdx.x / blocks;
    int64 e = blockIdx.x % blocks * BLOCK + threadIdx.x;
    if (e >= count) return;
    keys[line * count + e] = key_of(x[place(line, e, count, inner)]);
    along[line * count + e] = (unsigned)e;
}

// One step: each element of a lower half is compared with its mirror image, or with the element
// `reach` behind it.
__global__ void LAUNCH_BOUNDS(BLOCK)
bitonic_exchange(GLOBAL key* keys, GLOBAL unsigned* along, int64 count, int64 reach, int mirrored)
{
    int64 blocks = (count + BLOCK - 1) / BLOCK, line = blockIdx.x / blocks;
    int64 e = blockIdx.x % blocks * BLOCK + threadIdx.x;
    int64 other = mirrored ? e ^ (2 * reach - 1) : e + reach;
    if (e & reach || other >= count) return;
    GLOBAL key* own = keys + line * count;
    GLOBAL unsigned* from = along + line * count;
    if (!behind(own[e], from[e], own[other], from[other])) return;
    key kept = own[e];
    unsigned from_kept = from[e];
    own[e] = own[other], from[e] = from[other];
    own[other] = kept, from[other] = from_kept;
}

// The results: what goes with an element is fetched from where that was.
__global__ void LAUNCH_BOUNDS(BLOCK)
bitonic_end(const GLOBAL key* keys, const GLOBAL unsigned* along, const GLOBAL unsigned* with_it,
            GLOBAL key* y, GLOBAL unsigned* moved, int64 count, int64 inner)
{
    int64 blocks = (count + BLOCK - 1) / BLOCK, line = blockIdx.x / blocks;
    int64 e = blockIdx.x % blocks * BLOCK + threadIdx.x;
    if (e >= count) return;
    unsigned from = along[line * count + e];
    unsigned goes = GIVES == PAIRS ? with_it[place(line, from, count, inner)] : from;
    put(y, moved, keys[line * count + e], goes, 1, line, e, count, inner);
}
