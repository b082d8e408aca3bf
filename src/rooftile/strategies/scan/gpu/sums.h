// The kernel between two: a block scans the sums of a line's parts, section after section.
//
// sums[lines][parts].
// Grid: x over lines.
// Block: x over BLOCK (a power of two) threads.

#pragma once
#include "section.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
KERNEL(scan_sums)(GLOBAL carried* sums, int64 parts)
{
    __shared__ carried held[SLOTS], ends[BLOCK];
    struct carry before = nothing();
    for (int64 first = 0; first < parts; first += SECTION) {
        carried all = scan_values(sums + blockIdx.x * parts, value_of(before), first, parts, held,
                                  ends);
        before = joined(before, all);
        __syncthreads();
    }
}
