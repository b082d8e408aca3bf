// privatised: a block has bins of its own in shared memory, and adds them up at its end.
//
// In `replicated` an atomic still goes to the L2 cache.  Here it stays in the multiprocessor, and
// global memory sees one atomic a bin and block.  Any number of threads may share out any number of
// bins.  What it removes: all but a few atomics of global memory.
//
// x[count], counts[bins].
// Grid: x over persistent blocks.
// Block: x over BLOCK threads.

#define FAMILY privatised
#include "bins.h"

__global__ void privatised(const GLOBAL given* __restrict__ x, WEIGHTS GLOBAL number* counts,
                           int64 count, RULE_PARAMETERS SHARED_ARGUMENT(own, mine))
{
    SHARED_ARRAY(own, mine);
    for (int bin = threadIdx.x; bin < bins; bin += BLOCK) mine[bin] = 0;
    __syncthreads();
    int64 stride = (int64)gridDim.x * BLOCK;
    for (int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x; i < count; i += stride) {
        int bin = BIN(x[i]);
        if (bin >= 0) GROW_SHARED(mine, bin, WEIGHT(i));
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += BLOCK) {
        if (mine[bin] != 0) GROW(counts, bin, mine[bin]);
    }
}
