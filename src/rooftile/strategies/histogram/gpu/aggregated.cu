// aggregated: what equal neighbours add is added at once.
//
// In `strided` every element is an atomic.  Here a thread takes RUN neighbours of a tile that the
// block has brought to shared memory, and holds back what it would add while the bin stays the
// same.  What it removes: atomics, where neighbours lie in one bin, as in a picture's sky.
//
// x[count], counts[bins].
// Grid: x over persistent blocks.
// Block: x over BLOCK threads.

#define FAMILY aggregated
#include "bins.h"

__global__ void aggregated(const GLOBAL given* __restrict__ x, WEIGHTS GLOBAL number* counts,
                           int64 count, RULE_PARAMETERS)
{
    // One more than a run, so that threads of a warp read from different banks.
    __shared__ int found[BLOCK * (RUN + 1)];
    int64 step = (int64)gridDim.x * BLOCK * RUN;
    for (int64 tile = (int64)blockIdx.x * BLOCK * RUN; tile < count; tile += step) {
        for (int j = threadIdx.x; j < BLOCK * RUN; j += BLOCK) {
            found[j / RUN * (RUN + 1) + j % RUN] = tile + j < count ? BIN(x[tile + j]) : -1;
        }
        __syncthreads();
        int bin = -1;
        own held = 0;
        for (int j = 0; j < RUN; j++) {
            int next = found[threadIdx.x * (RUN + 1) + j];
            if (next != bin) {
                if (bin >= 0) GROW(counts, bin, held);
                bin = next;
                held = 0;
            }
            if (next >= 0) held += WEIGHT(tile + threadIdx.x * RUN + j);
        }
        if (bin >= 0) GROW(counts, bin, held);
        // The next tile overwrites what this one has read.
        __syncthreads();
    }
}
