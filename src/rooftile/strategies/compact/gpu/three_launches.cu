// three_launches: the numbers that sections keep, their scan, and then all elements to
// their places.
//
// An element's place is the number of kept elements before it: in earlier sections, from the scan,
// and in its own. What it removes: all but one of the waits. What it costs: the mask is read twice,
// and elements go to memory one by one.
//
// x[count], mask[count], y[count], kept[1], places[sections].
// Grid: x over sections of BLOCK RUN elements; one block for the scan.
// Block: x over BLOCK (a power of two) threads.

#include "items.h"
#include "ranks.h"

#define SECTION ((int64)BLOCK * RUN)

__global__ void LAUNCH_BOUNDS(BLOCK)
three_launches_count_sections(
    const GLOBAL unsigned char* __restrict__ mask, GLOBAL int64* __restrict__ places, int64 count)
{
    __shared__ int held[BLOCK];
    int64 first = blockIdx.x * SECTION;
    int found = 0;
    for (int run = 0; run < RUN; run++) {
        int64 i = first + run * BLOCK + threadIdx.x;
        if (i < count && mask[i]) found++;
    }
    rank_in_block(found, held);
    if (threadIdx.x == 0) places[blockIdx.x] = held[BLOCK - 1];
}

__global__ void LAUNCH_BOUNDS(BLOCK)
three_launches_scan_counts(GLOBAL int64* places, GLOBAL int64* __restrict__ kept, int64 sections)
{
    __shared__ int held[BLOCK];
    int64 before = 0;
    for (int64 first = 0; first < sections; first += BLOCK) {
        int64 section = first + threadIdx.x;
        int own = section < sections ? (int)places[section] : 0;
        int rank = rank_in_block(own, held);
        if (section < sections) places[section] = before + rank;
        before += held[BLOCK - 1];
    }
    if (threadIdx.x == 0) kept[0] = before;
}

__global__ void LAUNCH_BOUNDS(BLOCK)
three_launches_scatter(
    const GLOBAL item* __restrict__ x, const GLOBAL unsigned char* __restrict__ mask,
    const GLOBAL int64* __restrict__ places, GLOBAL item* __restrict__ y, int64 count)
{
    __shared__ int held[BLOCK];
    int64 first = blockIdx.x * SECTION, before = places[blockIdx.x];
    for (int run = 0; run < RUN; run++) {
        int64 i = first + run * BLOCK + threadIdx.x;
        int keeps = i < count && mask[i];
        int rank = rank_in_block(keeps, held);
        if (keeps) y[before + rank] = x[i];
        before += held[BLOCK - 1];
    }
}
