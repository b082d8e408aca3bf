// The first and the last kernel of rungs that scan sections separately: into y, with the sections'
// sums; and then each section's prefix is added to it.
//
// x[outer][count][inner], y[outer][count][inner], sums[lines][sections].
// Grid: x over sections of all lines.
// Block: x over BLOCK (a power of two) threads, for a section of BLOCK RUN elements.

#pragma once
#include "section.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
KERNEL(scan_sections)(const GLOBAL given* __restrict__ x, GLOBAL result* __restrict__ y,
                      GLOBAL carried* __restrict__ sums, int64 sections, int64 count, int64 inner)
{
    __shared__ carried held[SLOTS], ends[BLOCK];
    int64 line = blockIdx.x / sections, first = blockIdx.x % sections * SECTION;
    bring(held, x, line, first, count, count, inner);
    carried all = scan_section(held, ends);
    take_away(held, IDENTITY, y, line, first, count, count, inner);
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

// `sums` have been scanned: a section adds those up to the one before it.
__global__ void LAUNCH_BOUNDS(BLOCK)
KERNEL(add_sums)(
    GLOBAL result* __restrict__ y, const GLOBAL carried* __restrict__ sums, int64 sections,
    int64 count, int64 inner)
{
    int64 line = blockIdx.x / sections, section = blockIdx.x % sections;
    if (section == 0) return;
    carried before = sums[blockIdx.x - 1];
    for (int e = threadIdx.x; e < SECTION && section * SECTION + e < count; e += BLOCK) {
        int64 at = place(line, section * SECTION + e, count, inner);
        y[at] = combined(before, y[at]);
    }
}
