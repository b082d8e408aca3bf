// three_launches: the numbers of runs that begin in sections, their scan, and then the first
// element of each run to its place.
//
// An element's place is the number of runs that begin before it.
//
// With RUNS neighbours are in an order of x's elements. Places of first elements and numbers of
// runs are stored besides; lengths, the distances of first elements, are a fourth launch's.
//
// x[count], y[count], found[1], places[sections]; with RUNS also order[count], index[count],
// inverse[count], counts[count], firsts[count].
// Grid: x over sections of BLOCK RUN elements; one block for the scan; over BLOCK runs for lengths.
// Block: x over BLOCK (a power of two) threads.

#define FAMILY three_launches
#include "sort/gpu/keys.h"
#include "sort/gpu/sections.h"

#if RUNS
#define ORDER const GLOBAL int64* order,
#define AT(i) order[i]
#define BEGINS(i) begins(x, order, i, count)
#else
#define ORDER
#define AT(i) (i)
#define BEGINS(i) begins(x, i, count)
#endif

__device__ __forceinline__ int begins(const GLOBAL key* x, ORDER int64 i, int64 count)
{
    return i < count && (i == 0 || key_of(x[AT(i)]) != key_of(x[AT(i - 1)]));
}

__global__ void LAUNCH_BOUNDS(BLOCK)
three_launches_count_sections(const GLOBAL key* x, ORDER GLOBAL int64* places, int64 count)
{
    __shared__ int held[BLOCK];
    int found = 0;
    for (int run = 0; run < RUN; run++)
        found += BEGINS(blockIdx.x * SECTION + run * BLOCK + threadIdx.x);
    rank_in_block(found, held);
    if (threadIdx.x == 0) places[blockIdx.x] = held[BLOCK - 1];
}

__global__ void LAUNCH_BOUNDS(BLOCK)
three_launches_move(const GLOBAL key* x, ORDER const GLOBAL int64* places, GLOBAL key* y,
                    #if RUNS
                    GLOBAL int64* index, GLOBAL int64* inverse, GLOBAL int64* firsts,
                    #endif
                    int64 count)
{
    __shared__ int held[BLOCK];
    int64 before = places[blockIdx.x];
    for (int run = 0; run < RUN; run++) {
        int64 i = blockIdx.x * SECTION + run * BLOCK + threadIdx.x;
        int first = BEGINS(i);
        int rank = rank_in_block(first, held);
        if (first) y[before + rank] = x[AT(i)];
#if RUNS
        if (first) {
            index[before + rank] = order[i];
            firsts[before + rank] = i;
        }
        if (i < count) inverse[order[i]] = before + rank + first - 1;
#endif
        before += held[BLOCK - 1];
    }
}

#if RUNS
__global__ void LAUNCH_BOUNDS(BLOCK)
three_launches_measure(
    const GLOBAL int64* firsts, const GLOBAL int64* found, GLOBAL int64* counts, int64 count)
{
    int64 run = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (run < found[0])
        counts[run] = (run + 1 < found[0] ? firsts[run + 1] : count) - firsts[run];
}
#endif
