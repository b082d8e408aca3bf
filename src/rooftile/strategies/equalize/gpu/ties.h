// Gray levels without double precision for each pixel.
//
// Weights are hundredths, so that the weighted sum is an integer.  Off half-way sums it is rounded
// without an error; of those, red and green leave at most three blues, 100 apart, and a table says
// by a bit for each whether the rule rounds down.
//
// ties[256 256], by red and green.

#pragma once

#include "levels.h"

// Grid: x over red, a block each.  Block: x over green.
__global__ void LAUNCH_BOUNDS(LEVELS) KERNEL(find_ties)(GLOBAL unsigned char* ties)
{
    int red = blockIdx.x, green = threadIdx.x;
    unsigned char down = 0;
    // The first blue that makes the sum half-way: 7 * 43 is 1 modulo 100.
    int first = (10000 - (21 * red + 71 * green + 50) % 100) * 43 % 100;
    for (int blue = first; blue < LEVELS; blue += 100) {
        int hundredths = 21 * red + 71 * green + 7 * blue + 50;
        if (exact_level(red, green, blue) < hundredths / 100) down |= 1 << blue / 100;
    }
    ties[red * LEVELS + green] = down;
}

#if CHANNELS == 3
#define TIES const GLOBAL unsigned char* __restrict__ ties,
#define LEVEL(bytes) level_of((bytes)[0], (bytes)[1], (bytes)[2], ties)
#else
#define TIES
#define LEVEL(bytes) ((bytes)[0])
#endif

__device__ __forceinline__ int level_of(int red, int green, int blue,
                                        const GLOBAL unsigned char* __restrict__ ties)
{
    int hundredths = 21 * red + 71 * green + 7 * blue + 50, level = hundredths / 100;
    if (level * 100 == hundredths) level -= ties[red * LEVELS + green] >> blue / 100 & 1;
    return level;
}
