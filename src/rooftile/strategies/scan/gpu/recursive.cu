// recursive: as many levels of sums as it takes.
//
// In hierarchical one block scans the sums of a line, section after section.  Here sums are scanned
// as the line is, by as many blocks as there are sections of sums, whose sums are the next level;
// then each level adds what the level above it found.
//
// x[outer][count][inner], y[outer][count][inner], level[lines][count].
// Grid: x over sections of all lines.
// Block: x over BLOCK (a power of two) threads, for a section of BLOCK RUN elements.

#define FAMILY recursive
#include "levels.h"

// One level's sums, in place, and the level above it.
__global__ void LAUNCH_BOUNDS(BLOCK)
recursive_scan_level(
    GLOBAL carried* __restrict__ level, GLOBAL carried* __restrict__ above, int64 sections,
    int64 count)
{
    __shared__ carried held[SLOTS], ends[BLOCK];
    int64 line = blockIdx.x / sections, first = blockIdx.x % sections * SECTION;
    carried all = scan_values(level + line * count, IDENTITY, first, count, held, ends);
    if (threadIdx.x == 0) above[blockIdx.x] = all;
}

__global__ void LAUNCH_BOUNDS(BLOCK)
recursive_add_level(GLOBAL carried* __restrict__ level, const GLOBAL carried* __restrict__ above,
                    int64 sections, int64 count)
{
    int64 line = blockIdx.x / sections, section = blockIdx.x % sections;
    if (section == 0) return;
    carried before = above[blockIdx.x - 1];
    for (int e = threadIdx.x; e < SECTION && section * SECTION + e < count; e += BLOCK) {
        int64 at = line * count + section * SECTION + e;
        level[at] = combined(before, level[at]);
    }
}
