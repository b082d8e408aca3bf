// naive: a thread a pixel that adds to its level's bin in global memory, and a thread a byte.
//
// Everything is as the rule says it, in double precision.  Pixels of one level queue up at its bin.
//
// image[pixels][CHANNELS], y[pixels][CHANNELS], counts[LEVELS], table[LEVELS].
// Grid: x over pixels, or over bytes.
// Block: x over BLOCK threads.

#define FAMILY naive
#include "levels.h"

__global__ void naive_count_levels(
    const GLOBAL unsigned char* __restrict__ image, GLOBAL int64* counts, int64 pixels)
{
    int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= pixels) return;
#if CHANNELS == 3
    int level = exact_level(image[3 * i], image[3 * i + 1], image[3 * i + 2]);
#else
    int level = image[i];
#endif
    ADD_LONG(counts + level, 1);
}

__global__ void naive_look_up(const GLOBAL unsigned char* __restrict__ image,
                              const GLOBAL unsigned char* __restrict__ table,
                              GLOBAL unsigned char* __restrict__ y, int64 bytes)
{
    int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (i < bytes) y[i] = table[image[i]];
}
