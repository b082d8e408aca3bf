// vectors: sixteen pixels a thread, and bins and table once for each lane.
//
// In `privatised` the lanes of a warp meet at bins, and at banks of shared memory where they do not.
// Here lane l has a copy of the bins and of the table in bank l, so that no two ever meet.  Bytes
// come and go in vectors, and from the picture's end: what was read last, a cache may still hold.
// What it removes: turns at banks and bins, most of the loads and stores.
//
// image[pixels][CHANNELS], y[pixels][CHANNELS], counts[LEVELS], table[LEVELS], ties[256][256].
// Grid: x over persistent blocks.
// Block: x over BLOCK threads, at least 32.

#define FAMILY vectors
#include "ties.h"

#define LANES 32
#define RUN 16
#define WORDS (LEVELS / 4)

union run { uint4 vectors[CHANNELS]; unsigned char of[RUN * CHANNELS]; };
union quads { uint4 vector; unsigned of[4]; };

__global__ void LAUNCH_BOUNDS(BLOCK)
vectors_count_levels(const GLOBAL unsigned char* __restrict__ image, TIES GLOBAL int64* counts,
                     int64 pixels)
{
    __shared__ unsigned copies[LEVELS * LANES];
    for (int i = threadIdx.x; i < LEVELS * LANES; i += BLOCK) copies[i] = 0;
    __syncthreads();

    SHARED unsigned* own = copies + threadIdx.x % LANES;
    const GLOBAL uint4* vectors = (const GLOBAL uint4*)image;
    int64 runs = pixels / RUN, stride = (int64)gridDim.x * BLOCK;
    int64 first = (int64)blockIdx.x * BLOCK + threadIdx.x;
    for (int64 at = first; at < runs; at += stride) {
        union run run;
        UNROLL
        for (int k = 0; k < CHANNELS; k++) run.vectors[k] = vectors[CHANNELS * at + k];
        UNROLL
        for (int k = 0; k < RUN; k++) ADD_SHARED_UINT(own + LEVEL(run.of + CHANNELS * k) * LANES, 1);
    }
    // The rest after the last whole run.
    int64 last = runs * RUN + first;
    if (last < pixels) ADD_SHARED_UINT(own + LEVEL(image + CHANNELS * last) * LANES, 1);
    __syncthreads();

    for (int level = threadIdx.x; level < LEVELS; level += BLOCK) {
        unsigned sum = 0;
        // Neighbouring threads begin at different copies, which lie in different banks.
        for (int copy = 0; copy < LANES; copy++)
            sum += copies[level * LANES + (copy + level) % LANES];
        if (sum) ADD_LONG(counts + level, sum);
    }
}

// A byte by a lane's own table, four levels a word.
__device__ __forceinline__ unsigned looked_up(const SHARED unsigned* own, unsigned byte)
{
    return own[byte / 4 * LANES] >> 8 * (byte % 4) & 255;
}

__global__ void LAUNCH_BOUNDS(BLOCK)
vectors_look_up(
    const GLOBAL unsigned char* __restrict__ image, const GLOBAL unsigned char* __restrict__ table,
    GLOBAL unsigned char* __restrict__ y, int64 bytes)
{
    __shared__ unsigned copies[WORDS * LANES];
    const GLOBAL unsigned* words = (const GLOBAL unsigned*)table;
    for (int i = threadIdx.x; i < WORDS * LANES; i += BLOCK) copies[i] = words[i / LANES];
    __syncthreads();

    const SHARED unsigned* own = copies + threadIdx.x % LANES;
    const GLOBAL uint4* from = (const GLOBAL uint4*)image;
    GLOBAL uint4* to = (GLOBAL uint4*)y;
    int64 whole = bytes / RUN, stride = (int64)gridDim.x * BLOCK;
    int64 first = (int64)blockIdx.x * BLOCK + threadIdx.x;
    for (int64 at = whole - 1 - first; at >= 0; at -= stride) {
        union quads given, made;
        given.vector = from[at];
        UNROLL
        for (int k = 0; k < 4; k++) {
            made.of[k] = 0;
            UNROLL
            for (int byte = 0; byte < 4; byte++)
                made.of[k] |= looked_up(own, given.of[k] >> 8 * byte & 255) << 8 * byte;
        }
        to[at] = made.vector;
    }
    int64 last = whole * RUN + first;
    if (last < bytes) y[last] = (unsigned char)looked_up(own, image[last]);
}
