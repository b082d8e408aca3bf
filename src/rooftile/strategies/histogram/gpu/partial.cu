// partial: the first bins in shared memory, the others in global memory.
//
// `privatised` needs shared memory for all bins.  Where there are more, the first PRIVATE lie there,
// which pays where most elements are in them.  What it removes: the atomics of global memory for
// these.
//
// x[count], counts[bins].
// Grid: x over persistent blocks.
// Block: x over BLOCK threads.

#define FAMILY partial
#include "bins.h"

__global__ void partial(const GLOBAL given* __restrict__ x, WEIGHTS GLOBAL number* counts,
                        int64 count, RULE_PARAMETERS)
{
    __shared__ own mine[PRIVATE];
    for (int bin = threadIdx.x; bin < PRIVATE; bin += BLOCK) mine[bin] = 0;
    __syncthreads();
    int64 stride = (int64)gridDim.x * BLOCK;
    for (int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x; i < count; i += stride) {
        int bin = BIN(x[i]);
        if (bin >= PRIVATE) GROW(counts, bin, WEIGHT(i));
        else if (bin >= 0) GROW_SHARED(mine, bin, WEIGHT(i));
    }
    __syncthreads();
    // No bin of its own is beyond the last: nothing grew there.
    for (int bin = threadIdx.x; bin < PRIVATE; bin += BLOCK) {
        if (mine[bin] != 0) GROW(counts, bin, mine[bin]);
    }
}
