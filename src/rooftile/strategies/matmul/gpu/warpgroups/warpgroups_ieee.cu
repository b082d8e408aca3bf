// warpgroups_ieee: float32 as two numbers of float16 on Hopper's warpgroups.
//
// As warpgroups, but with the kernel of linear that splits numbers: three products
// stand for one, where the three numbers of `mma_ieee` take six.  float16 lacks range, so what is
// known of b's columns is found by another pass.
// What it removes: half of the products.
//
// See gemm/gpu/warpgroups/warpgroups_ieee.h, of which a is x[images][INPUTS], and b the weights.

#define FAMILY warpgroups_ieee
#include "gemm/gpu/warpgroups/warpgroups_ieee.h"
#include "matmul/gpu/warpgroups/lay.h"

// Finds the scale of each column of b[INPUTS][OUTPUTS].  Grid: x over runs of 32 columns.
// Block: x over the columns, y over 32 shares of their numbers.
__global__ __launch_bounds__(1024) void warpgroups_ieee_measure_columns(
    const float* __restrict__ b, struct row_scale* __restrict__ row_scales)
{
    __shared__ float joined[32][32];
    int x = threadIdx.x, y = threadIdx.y, output = blockIdx.x * 32 + x;
    int end = output < OUTPUTS ? INPUTS : 0;
    float most = 0.0f, small = 0.0f;
    UNROLL_BY(8) for (int k = y; k < end; k += 32)
        most = fmaxf(most, fabsf(b[(size_t)k * OUTPUTS + output]));
    joined[y][x] = most;
    __syncthreads();
    UNROLL for (int share = 0; share < 32; share++) most = fmaxf(most, joined[share][x]);
    __syncthreads();

    float scale = scale_to(most);
    UNROLL_BY(8) for (int k = y; k < end; k += 32)
        small += is_small(b[(size_t)k * OUTPUTS + output], scale) ? 1.0f : 0.0f;
    joined[y][x] = small;
    __syncthreads();
    if (y > 0 || output >= OUTPUTS) return;
    struct row_scale row_scale = {most == 0.0f ? 0.0f : over(14, scale), 0.0f};
    UNROLL for (int share = 0; share < 32; share++) row_scale.small += joined[share][x];
    row_scales[output] = row_scale;
}

// Grid: a block a slice of a tile, which is two planes.
__global__ __launch_bounds__(PACK_THREADS) void warpgroups_ieee_lay(
    const float* __restrict__ b, const struct row_scale* __restrict__ row_scales,
    element* __restrict__ numbers)
{
    __shared__ float held[SLICE][TILE_O + 1];
    __shared__ struct row_scale of[TILE_O];
    int tile = blockIdx.x / SLICES;
    hold(b, held, blockIdx.x % SLICES, tile);
    for (int o = threadIdx.x; o < TILE_O; o += PACK_THREADS) {
        int output = tile * TILE_O + o;
        of[o] = row_scales[output < OUTPUTS ? output : 0];
    }
    __syncthreads();
    numbers += (size_t)blockIdx.x * 2 * PLANE;
    UNROLL_BY(4) for (int at = threadIdx.x; at < PLANE; at += PACK_THREADS)
        split_weight(number_of(held, at), of[place_of(at).output], numbers + at, PLANE);
}
