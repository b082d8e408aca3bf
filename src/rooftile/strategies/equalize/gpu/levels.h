// Common parts of equalize's texts: the gray level of a pixel, the table, and a byte by the table.
//
// CHANNELS: 3 for colours, 1 for a picture that is gray itself.
//
// The weighted sum of colours is rounded in double precision, product by product: no multiplication
// may be joined with an addition, or sums half-way between two levels go the other way.

#pragma once

#include "common/atomics.h"

#define LEVELS 256

#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#define TIMES(a, b) ((a) * (b))
#define PLUS(a, b) ((a) + (b))
#else
#define TIMES(a, b) __dmul_rn(a, b)
#define PLUS(a, b) __dadd_rn(a, b)
#endif

// As the rule says it.
__device__ __forceinline__ int exact_level(int red, int green, int blue)
{
    double first = TIMES(0.21, red / 255.0), second = TIMES(0.71, green / 255.0);
    double sum = PLUS(PLUS(first, second), TIMES(0.07, blue / 255.0));
    return (int)PLUS(TIMES(255.0, sum), 0.5);
}

// Grid: x over LEVELS bins.  Every kernel that counts adds to cleared bins.
__global__ void KERNEL(clear)(GLOBAL int64* counts)
{
    counts[blockIdx.x * blockDim.x + threadIdx.x] = 0;
}

// The table from how many pixels have each level: a scan by Kogge and Stone, a thread a level.
//
// counts[LEVELS], table[LEVELS].  Grid: one block of LEVELS threads.
__global__ void LAUNCH_BOUNDS(LEVELS)
KERNEL(make_table)(
    const GLOBAL int64* __restrict__ counts, GLOBAL unsigned char* __restrict__ table)
{
    __shared__ int64 cdf[LEVELS], least;
    int level = threadIdx.x;
    cdf[level] = counts[level];
    for (int reach = 1; reach < LEVELS; reach *= 2) {
        __syncthreads();
        int64 other = level >= reach ? cdf[level - reach] : 0;
        __syncthreads();
        cdf[level] += other;
    }
    __syncthreads();
    // The darkest level that is there: one thread alone has it.
    if (cdf[level] > 0 && (level == 0 || cdf[level - 1] == 0)) least = cdf[level];
    __syncthreads();
    int64 spread = cdf[LEVELS - 1] - least, above = cdf[level] - least;
    int made = above > 0 ? (int)(255 * above / spread) : 0;
    table[level] = (unsigned char)(spread ? made : level);
}
