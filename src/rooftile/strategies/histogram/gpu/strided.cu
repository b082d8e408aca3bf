// strided: neighbouring threads take neighbouring elements, each an atomic in global memory.
//
// In `contiguous` the reads of a warp lie a run apart.  Here they follow each other, and a thread
// goes on a whole grid further.  What it removes: reads that do not follow each other.
//
// x[count], counts[bins].
// Grid: x over persistent blocks.
// Block: x over BLOCK threads.

#define FAMILY strided
#include "bins.h"

__global__ void strided(const GLOBAL given* __restrict__ x, WEIGHTS GLOBAL number* counts,
                        int64 count, RULE_PARAMETERS)
{
    int64 stride = (int64)gridDim.x * BLOCK;
    for (int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x; i < count; i += stride) {
        int bin = BIN(x[i]);
        if (bin >= 0) GROW(counts, bin, WEIGHT(i));
    }
}
