// replicated: COPIES of the bins in global memory, which blocks share out.
//
// In `strided` all threads of the device wait for each other at a popular bin.  Here a block adds to
// one of several copies, and a second kernel adds these up.  What it removes: most of that waiting,
// where there are few bins.
//
// x[count], copies[COPIES][bins], counts[bins].
// Grid: x over persistent blocks; for `join`, over CLEAR_THREADS bins.
// Block: x over BLOCK threads.

#define FAMILY replicated
#include "bins.h"

__global__ void replicated(const GLOBAL given* __restrict__ x, WEIGHTS GLOBAL number* copies,
                           int64 count, RULE_PARAMETERS)
{
    GLOBAL number* mine = copies + (int64)(blockIdx.x % COPIES) * bins;
    int64 stride = (int64)gridDim.x * BLOCK;
    for (int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x; i < count; i += stride) {
        int bin = BIN(x[i]);
        if (bin >= 0) GROW(mine, bin, WEIGHT(i));
    }
}

__global__ void replicated_join(const GLOBAL number* copies, GLOBAL number* counts, int bins)
{
    int bin = blockIdx.x * CLEAR_THREADS + threadIdx.x;
    if (bin >= bins) return;
    number sum = 0;
    for (int copy = 0; copy < COPIES; copy++) sum += copies[(int64)copy * bins + bin];
    counts[bin] = sum;
}
