// warpgroups: the kernel of linear on Hopper's warpgroups, for many rows of a.
//
// In `mma`, a warp rounds its elements of both matrices again in each block, and reads shared
// memory for each of its products. Here b is rounded and packed once, as the kernel of linear wants
// its weights, by a pass over b that costs as much as some hundred rows of the product; the
// warpgroups then read it from shared memory without registers.
// What it removes: most instructions besides the products.
//
// See gemm/gpu/warpgroups/warpgroups.h, of which a is x[images][INPUTS], and b the weights: as they
// are where it is transposed, else WEIGHTS_BY_INPUT.

#define FAMILY warpgroups
#include "gemm/gpu/warpgroups/warpgroups.h"
#include "matmul/gpu/warpgroups/lay.h"

// Grid: a block a plane.
__global__ __launch_bounds__(PACK_THREADS) void warpgroups_lay(const float* __restrict__ b,
                                                               element* __restrict__ rounded)
{
    __shared__ float held[SLICE][TILE_O + 1];
    hold(b, held, blockIdx.x % SLICES, blockIdx.x / SLICES);
    __syncthreads();
    rounded += (size_t)blockIdx.x * PLANE;
    UNROLL_BY(4) for (int at = 2 * threadIdx.x; at < PLANE; at += 2 * PACK_THREADS) {
        float first = number_of(held, at), second = number_of(held, at + 1);
#if CORES == TF32
        *(float2*)(rounded + at) = make_float2(tf32(first), tf32(second));
#else
        *(pair*)(rounded + at) = pack(first, second);
#endif
    }
}
