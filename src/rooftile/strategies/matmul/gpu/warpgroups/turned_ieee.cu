// turned_ieee: the transposed product, so that few rows of a are a tile's few columns.
//
// In warpgroups_ieee rows of a are split in registers, and b is measured, split and packed before:
// all of a large b passes twice more through memory for a few rows. Here b transposed is the
// kernel's x: its columns are split in registers on their way to the cores, in either order of b,
// and nothing of b is written. a is measured, split and packed, in one pass by a block a row.
// What it removes: the passes over b.
//
// See gemm/gpu/warpgroups/warpgroups_ieee.h: x is b, as x[images][INPUTS] where it is transposed,
// else X_ACROSS; weights are a; out[OUTPUTS][images].

#define FAMILY turned_ieee
#include "gemm/gpu/warpgroups/warpgroups_ieee.h"

#define PIECES (4 * SLICES)

// An element of a row of weights, zero around them.
__device__ __forceinline__ float weight_of(const float* weights, int output, int input)
{
    bool inside = output < OUTPUTS && input < INPUTS;
    size_t at = WEIGHTS_BY_INPUT ? (size_t)input * OUTPUTS + output
                                 : (size_t)output * INPUTS + input;
    return inside ? weights[at] : 0.0f;
}

// The greatest of what all threads of the block give, or the sum.
__device__ __forceinline__ float of_block(float value, bool greatest)
{
    __shared__ float joined[PACK_THREADS];
    int thread = threadIdx.x;
    __syncthreads();
    joined[thread] = value;
    __syncthreads();
    UNROLL for (int apart = PACK_THREADS / 2; apart > 0; apart /= 2) {
        float mine = joined[thread], other = joined[(thread + apart) % PACK_THREADS];
        __syncthreads();
        joined[thread] = greatest ? fmaxf(mine, other) : mine + other;
        __syncthreads();
    }
    return joined[0];
}

// The index of the first of eight numbers that a stage holds as one piece of 16 bytes.
__device__ __forceinline__ size_t first_of_piece(int output, int piece)
{
    size_t plane = (size_t)(output / TILE_O) * SLICES + piece / 4;
    return plane * PLANE + (piece % 4 * TILE_O + output % TILE_O) * 8;
}

// Measures a row of weights, splits it and lays it.  Grid: a block a row, the padded ones too.
__global__ __launch_bounds__(PACK_THREADS) void turned_ieee_split_rows(
    const float* weights, struct row_scale* __restrict__ row_scales, element* __restrict__ numbers)
{
    WAIT_WHERE_OVERLAPPING();
    int output = blockIdx.x;
    float most = 0.0f, small = 0.0f;
    UNROLL_BY(8) for (int k = threadIdx.x; k < INPUTS; k += PACK_THREADS)
        most = fmaxf(most, fabsf(weight_of(weights, output, k)));
    most = of_block(most, true);
    float scale = scale_to(most);
    struct row_scale row_scale = {most == 0.0f ? 0.0f : over(14, scale), 0.0f};
    for (int piece = threadIdx.x; piece < PIECES; piece += PACK_THREADS) {
        size_t first = first_of_piece(output, piece);
        __align__(16) narrow held[2][8];
        UNROLL for (int e = 0; e < 8; e++) {
            float weight = weight_of(weights, output, place_of(first + e).input);
            small += is_small(weight, scale) ? 1.0f : 0.0f;
            split_weight(weight, row_scale, held[0] + e, 8);
        }
        narrow* to = numbers + first / PLANE * 2 * PLANE + first % PLANE;
        *(uint4*)to = *(uint4*)held[0];
        *(uint4*)(to + PLANE) = *(uint4*)held[1];
    }
    row_scale.small = of_block(small, false);
    if (threadIdx.x == 0 && output < OUTPUTS) row_scales[output] = row_scale;
}
