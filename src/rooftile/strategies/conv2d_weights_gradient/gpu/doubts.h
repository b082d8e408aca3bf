// Sums over the blocks. The same launch recomputes sums that may miss too much, as blocks tell with
// their sums, or that are NaN, where zeros met an infinity.

#pragma once

#include "conv2d_weights_gradient/gpu/anew.h"

// A column's sum over the blocks, the sum of its magnitudes, and what it may miss.
struct total { float sum, least, doubt; };

// The sum of a share of the rows, every sixteenth.
__device__ __forceinline__ struct total share_of_rows(const float* partial, int rows)
{
    struct total total = {};
    int column = blockIdx.x * 32 + threadIdx.x, map = column / COLUMNS_ALL, tap = column % COLUMNS_ALL;
    const float* first = partial + map * COLUMNS_TOLD;
    int channel = tap < CHANNELS * TAPS ? tap / TAPS : 0, end = map < MAPS ? rows : 0;
    UNROLL_BY(8) for (int row = threadIdx.y; row < end; row += 16) {
        const float* own = first + (int64)row * (MAPS * COLUMNS_TOLD);
        total.sum += own[tap], total.least += fabsf(own[tap]);
        // A bias misses nothing.
        total.doubt += tap < CHANNELS * TAPS ? own[COLUMNS_ALL + channel] : 0.0f;
    }
    return total;
}

// True if a sum is NaN, or may miss an eighth of float32's errors: terms of such a sum are no
// smaller together than the magnitudes of its parts.
__device__ __forceinline__ int doubtful(struct total total, int images)
{
    return !(total.doubt * 0x1p26f <= sqrtf((float)images * GRADIENTS) * total.least);
}

// Grid: x over the columns.  Block: x over 32 columns, y over 16 shares of the rows.
__global__ void LAUNCH_BOUNDS(512)
KERNEL(finish)(const given* x, const gradient_number* dy, WHERE_ARGUMENT const float* partial,
               float* __restrict__ dweights, float* __restrict__ dbias, int images, int rows)
{
    __shared__ struct total joined[16][32];
    __shared__ float found[32];
    GRIDDEPCONTROL_WAIT();
    joined[threadIdx.y][threadIdx.x] = share_of_rows(partial, rows);
    __syncthreads();
    // Each warp adds up all columns, so that all know which are lost.
    struct total all = joined[0][threadIdx.x];
    for (int row = 1; row < 16; row++) {
        struct total one = joined[row][threadIdx.x];
        all.sum += one.sum, all.least += one.least, all.doubt += one.doubt;
    }
    if (threadIdx.y == 0) found[threadIdx.x] = all.sum;
    __syncthreads();
    make_anew(__ballot_sync(~0u, doubtful(all, images)), x, dy, where, images, found);
    if (threadIdx.y == 0)
        store_column(blockIdx.x * 32 + threadIdx.x, found[threadIdx.x], dweights, dbias);
}
