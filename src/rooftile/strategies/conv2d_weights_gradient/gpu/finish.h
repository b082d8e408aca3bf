// Sums over the blocks of texts that make sums by block.

#pragma once

#include "common/overlapping.h"
#include "conv2d_weights_gradient/gpu/gradient.h"

// Of a map: its weights, then its bias.
#define COLUMNS_ALL (CHANNELS * TAPS + 1)

// partial[rows][MAPS * COLUMNS_ALL] -> dweights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH] and
// dbias[MAPS].  Grid: x over the columns.  Block: x over 32 columns, y over 16 shares of the rows.
__global__ void LAUNCH_BOUNDS(512)
finish(const GLOBAL float* partial, GLOBAL float* __restrict__ dweights,
       GLOBAL float* __restrict__ dbias, int rows)
{
    __shared__ float joined[16][32];
    AWAIT_EARLIER();
    int column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0.0f;
    int end = column < MAPS * COLUMNS_ALL ? rows : 0;
    UNROLL_BY(8) for (int row = threadIdx.y; row < end; row += 16)
        sum += partial[(int64)row * (MAPS * COLUMNS_ALL) + column];
    joined[threadIdx.y][threadIdx.x] = sum;
    for (int reach = 8; reach > 0; reach /= 2) {
        __syncthreads();
        if (threadIdx.y < reach)
            joined[threadIdx.y][threadIdx.x] += joined[threadIdx.y + reach][threadIdx.x];
    }
    int map = column / COLUMNS_ALL, tap = column % COLUMNS_ALL;
    if (threadIdx.y == 0 && map < MAPS) {
        if (tap < COLUMNS_ALL - 1)
            dweights[map * (COLUMNS_ALL - 1) + tap] = joined[0][threadIdx.x];
        else
            dbias[map] = joined[0][threadIdx.x];
    }
}
