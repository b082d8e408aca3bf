// three_launches: how many elements of each section go before the pivot, the scan of that,
// and then all elements to their places.
//
// An element that goes before the pivot comes behind those before it that do too; another one comes
// behind all that do, and behind those before it that do not.
//
// x[count], pivot[1], y[count], less[1], places[sections].
// Grid: x over sections of BLOCK RUN elements; one block for the scan.
// Block: x over BLOCK (a power of two) threads.

#define FAMILY three_launches
#include "sort/gpu/keys.h"
#include "sort/gpu/sections.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
three_launches_count_sections(
    const GLOBAL key* x, const GLOBAL key* pivot, GLOBAL int64* places, int64 count)
{
    __shared__ int held[BLOCK];
    key middle = key_of(pivot[0]);
    int found = 0;
    for (int run = 0; run < RUN; run++) {
        int64 i = blockIdx.x * SECTION + run * BLOCK + threadIdx.x;
        if (i < count && key_of(x[i]) < middle) found++;
    }
    rank_in_block(found, held);
    if (threadIdx.x == 0) places[blockIdx.x] = held[BLOCK - 1];
}

__global__ void LAUNCH_BOUNDS(BLOCK)
three_launches_move(const GLOBAL key* x, const GLOBAL key* pivot, const GLOBAL int64* places,
                    const GLOBAL int64* less, GLOBAL key* y, int64 count)
{
    __shared__ int held[BLOCK];
    key middle = key_of(pivot[0]);
    int64 before = places[blockIdx.x];
    for (int run = 0; run < RUN; run++) {
        int64 i = blockIdx.x * SECTION + run * BLOCK + threadIdx.x;
        int goes = i < count && key_of(x[i]) < middle;
        int64 rank = before + rank_in_block(goes, held);
        if (i < count) y[goes ? rank : less[0] + i - rank] = x[i];
        before += held[BLOCK - 1];
    }
}
