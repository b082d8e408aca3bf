// Sums over the blocks of texts that make sums by block.

#pragma once

#include "conv2d_weights_gradient/gpu/columns.h"

// partial[rows][MAPS * COLUMNS_ALL] -> dweights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH] and
// dbias[MAPS].  Grid: x over the columns.  Block: x over 32 columns, y over 16 shares of the rows.
__global__ void LAUNCH_BOUNDS(512)
KERNEL(finish)(const GLOBAL float* partial, GLOBAL float* __restrict__ dweights,
               GLOBAL float* __restrict__ dbias, int rows)
{
    __shared__ float joined[16][32];
    GRIDDEPCONTROL_WAIT();
    join_rows(partial, rows, joined);
    if (threadIdx.y == 0)
        store_column(blockIdx.x * 32 + threadIdx.x, joined[0][threadIdx.x], dweights, dbias);
}
