// three_phase: a run of RUN elements a thread, Kogge and Stone's passes over their ends.
//
// Passes and barriers are shared by RUN times as many elements: 2 + log2(BLOCK) / RUN combinations
// an element.  Loads stay coalesced, because the corner is turned in shared memory.
//
// x[outer][count][inner], y[outer][count][inner].
// Grid: x over lines.
// Block: x over BLOCK (a power of two) threads, for a section of BLOCK RUN elements.

#include "section.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
three_phase(const GLOBAL given* __restrict__ x, GLOBAL result* __restrict__ y, int64 count,
            int64 inner)
{
    __shared__ carried held[SLOTS], ends[BLOCK];
    struct carry before = nothing();
    for (int64 first = 0; first < count; first += SECTION) {
        bring(held, x, blockIdx.x, first, count, count, inner);
        carried all = scan_section(held, ends);
        take_away(held, value_of(before), y, blockIdx.x, first, count, count, inner);
        before = joined(before, all);
        __syncthreads();
    }
}
