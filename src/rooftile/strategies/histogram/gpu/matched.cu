// matched: the threads of a warp find the threads with the same bin, and one adds for all.
//
// In `privatised` threads of a warp that meet at a bin wait for each other. Here one instruction
// tells each thread the others with its bin; the first of them adds their number. What it removes:
// waiting, where a bin takes most elements. What it costs: the instruction, which takes a turn for
// each bin in the warp.
//
// x[count], counts[bins].
// Grid: x over persistent blocks.
// Block: x over BLOCK threads, whole warps.

#define FAMILY matched
#include "bins.h"

__global__ void matched(const GLOBAL given* __restrict__ x, GLOBAL number* counts, int64 count,
                        RULE_PARAMETERS)
{
    SHARED_ARRAY(unsigned, mine);
    for (int bin = threadIdx.x; bin < bins; bin += BLOCK) mine[bin] = 0;
    __syncthreads();
    int64 stride = (int64)gridDim.x * BLOCK;
    // A whole warp goes on as long as one of its threads has an element.
    int64 first = (int64)blockIdx.x * BLOCK + threadIdx.x / 32 * 32;
    for (; first < count; first += stride) {
        int64 i = first + threadIdx.x % 32;
        int bin = i < count ? BIN(x[i]) : -1;
        unsigned same = __match_any_sync(0xffffffff, bin);
        bool leads = threadIdx.x % 32 == __ffs(same) - 1;
        if (bin >= 0 && leads) GROW_SHARED(mine, bin, __popc(same));
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += BLOCK) {
        if (mine[bin] != 0) GROW(counts, bin, mine[bin]);
    }
}
