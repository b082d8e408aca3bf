// The launch between two: how many elements the sections before each section count, and all of them.
//
// places[sections], all[1].
// Grid: one block.
// Block: x over BLOCK (a power of two) threads.

#pragma once
#include "compact/gpu/ranks.h"

#define SECTION ((int64)BLOCK * RUN)

__global__ void LAUNCH_BOUNDS(BLOCK)
KERNEL(scan_counts)(GLOBAL int64* places, GLOBAL int64* all, int64 sections)
{
    __shared__ int held[BLOCK];
    int64 before = 0;
    for (int64 first = 0; first < sections; first += BLOCK) {
        int64 section = first + threadIdx.x;
        int own = section < sections ? (int)places[section] : 0;
        int rank = rank_in_block(own, held);
        if (section < sections) places[section] = before + rank;
        before += held[BLOCK - 1];
    }
    if (threadIdx.x == 0) all[0] = before;
}
