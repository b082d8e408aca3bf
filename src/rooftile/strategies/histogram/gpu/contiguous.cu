// contiguous: a thread a run of neighbouring elements, each an atomic in global memory.
//
// Neighbouring threads read a run apart, so that every read brings a whole sector for one element.
//
// x[count], counts[bins].
// Grid: x over blocks of threads.
// Block: x over BLOCK threads.

#define FAMILY contiguous
#include "bins.h"

__global__ void contiguous(const GLOBAL given* __restrict__ x, WEIGHTS GLOBAL number* counts,
                           int64 count, int64 run, RULE_PARAMETERS)
{
    int64 first = ((int64)blockIdx.x * BLOCK + threadIdx.x) * run;
    int64 last = first + run < count ? first + run : count;
    for (int64 i = first; i < last; i++) {
        int bin = BIN(x[i]);
        if (bin >= 0) GROW(counts, bin, WEIGHT(i));
    }
}
