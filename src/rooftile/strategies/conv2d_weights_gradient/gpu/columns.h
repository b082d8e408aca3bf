// The columns that partial sums have, and their sums over the rows.

#pragma once

#include "common/pipelines/pdl.h"
#include "conv2d_weights_gradient/gpu/gradient.h"

// Of a map: its weights, then its bias.
#define COLUMNS_ALL (CHANNELS * TAPS + 1)
// Where these are SCALED, after them for each channel the amount that sums of its weights may miss.
#define COLUMNS_TOLD (COLUMNS_ALL + (SCALED ? CHANNELS : 0))

// Adds up the rows of partial[rows][MAPS * COLUMNS_ALL] by 16 threads of each column, into joined[0].
// Block: x over 32 columns, y over 16 shares of the rows.
__device__ __forceinline__ void join_rows(const GLOBAL float* partial, int rows,
                                          SHARED float (*joined)[32])
{
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
}

// Stores a column's sum to dweights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH] or dbias[MAPS], unless it
// is none of theirs.
__device__ __forceinline__ void store_column(int column, float sum, GLOBAL float* dweights,
                                             GLOBAL float* dbias)
{
    int map = column / COLUMNS_ALL, tap = column % COLUMNS_ALL;
    if (map >= MAPS) return;
    if (tap < COLUMNS_ALL - 1)
        dweights[map * (COLUMNS_ALL - 1) + tap] = sum;
    else
        dbias[map] = sum;
}
