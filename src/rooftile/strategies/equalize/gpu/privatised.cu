// privatised: a block has bins of its own in shared memory, and the table too.
//
// In `naive` every pixel is an atomic in global memory, and a sum in double precision with three
// divisions.  Here bins are added up once a block, and sums are integers.  What it removes: queues
// at global bins, double precision, reads of the table from global memory.
//
// image[pixels][CHANNELS], y[pixels][CHANNELS], counts[LEVELS], table[LEVELS], ties[256][256].
// Grid: x over persistent blocks.
// Block: x over BLOCK threads.

#define FAMILY privatised
#include "ties.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
privatised_count_levels(const GLOBAL unsigned char* __restrict__ image, TIES GLOBAL int64* counts,
                        int64 pixels)
{
    __shared__ unsigned own[LEVELS];
    for (int level = threadIdx.x; level < LEVELS; level += BLOCK) own[level] = 0;
    __syncthreads();
    int64 stride = (int64)gridDim.x * BLOCK;
    for (int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x; i < pixels; i += stride)
        ADD_SHARED_UINT(own + LEVEL(image + CHANNELS * i), 1);
    __syncthreads();
    for (int level = threadIdx.x; level < LEVELS; level += BLOCK)
        if (own[level]) ADD_LONG(counts + level, own[level]);
}

__global__ void LAUNCH_BOUNDS(BLOCK)
privatised_look_up(
    const GLOBAL unsigned char* __restrict__ image, const GLOBAL unsigned char* __restrict__ table,
    GLOBAL unsigned char* __restrict__ y, int64 bytes)
{
    __shared__ unsigned char own[LEVELS];
    for (int level = threadIdx.x; level < LEVELS; level += BLOCK) own[level] = table[level];
    __syncthreads();
    int64 stride = (int64)gridDim.x * BLOCK;
    for (int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x; i < bytes; i += stride)
        y[i] = own[image[i]];
}
