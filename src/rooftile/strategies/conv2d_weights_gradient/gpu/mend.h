// Sums over the blocks, of which those that are NaN are made anew, in the same launch: where zeros met an
// infinity.

#pragma once

#include "conv2d_weights_gradient/gpu/anew.h"

// As in finish.h; then a block recomputes its 32 columns' sums that are NaN.
// Grid: x over the columns.  Block: 32 by 16.
__global__ void LAUNCH_BOUNDS(512)
KERNEL(finish)(const GLOBAL given* x, const GLOBAL gradient_number* dy,
               WHERE_ARGUMENT const GLOBAL float* partial, GLOBAL float* __restrict__ dweights,
               GLOBAL float* __restrict__ dbias, int images, int rows)
{
    __shared__ float joined[16][32];
    GRIDDEPCONTROL_WAIT();
    join_rows(partial, rows, joined);
    __syncthreads();
    float found = joined[0][threadIdx.x];
    // A warp has all columns.
    make_anew(__ballot_sync(~0u, found != found), x, dy, where, images, joined[0]);
    if (threadIdx.y == 0)
        store_column(blockIdx.x * 32 + threadIdx.x, joined[0][threadIdx.x], dweights, dbias);
}
