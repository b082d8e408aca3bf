// three_launches: how many runs begin in each section, the scan of that, and then the first
// element of each run to its place.
//
// An element's place is how many runs begin before it.
//
// x[count], y[count], found[1], places[sections].
// Grid: x over sections of BLOCK RUN elements; one block for the scan.
// Block: x over BLOCK (a power of two) threads.

#include "sort/gpu/keys.h"
#include "sort/gpu/sections.h"

__device__ __forceinline__ int begins(const GLOBAL key* x, int64 i, int64 count)
{
    return i < count && (i == 0 || key_of(x[i]) != key_of(x[i - 1]));
}

__global__ void LAUNCH_BOUNDS(BLOCK)
count_sections(const GLOBAL key* x, GLOBAL int64* places, int64 count)
{
    __shared__ int held[BLOCK];
    int found = 0;
    for (int run = 0; run < RUN; run++)
        found += begins(x, blockIdx.x * SECTION + run * BLOCK + threadIdx.x, count);
    rank_in_block(found, held);
    if (threadIdx.x == 0) places[blockIdx.x] = held[BLOCK - 1];
}

__global__ void LAUNCH_BOUNDS(BLOCK)
move(const GLOBAL key* x, const GLOBAL int64* places, GLOBAL key* y, int64 count)
{
    __shared__ int held[BLOCK];
    int64 before = places[blockIdx.x];
    for (int run = 0; run < RUN; run++) {
        int64 i = blockIdx.x * SECTION + run * BLOCK + threadIdx.x;
        int first = begins(x, i, count);
        int rank = rank_in_block(first, held);
        if (first) y[before + rank] = x[i];
        before += held[BLOCK - 1];
    }
}
