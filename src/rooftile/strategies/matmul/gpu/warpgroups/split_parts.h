// Splits parts of the rows of a, which are the weights of linear's text: each has a scale of its own.

#pragma once

#include "gemm/gpu/scaled_rows.h"
#include "gemm/gpu/warpgroups/copies.h"

#define WARPS (PACK_THREADS / 32)
// Number of pieces of eight numbers in a part of a row.
#define PART_PIECES (4 * PART_SLICES)

// Four numbers of a row of weights, zeros around them.
__device__ __forceinline__ float4 four_of_weights(const float* weights, int output, int input)
{
    bool inside = output < OUTPUTS && input < INPUTS;
    return inside ? *(const float4*)(weights + (size_t)output * INPUTS + input)
                  : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

// Eight numbers of a part's row which stages hold as one piece, in its order: four lanes' numbers,
// two each.
__device__ __forceinline__ void take_piece(const float* weights, int output, int slice, int piece,
                                           float held[8])
{
#if X_ACROSS
    // A lane takes every fourth.
    UNROLL for (int i = 0; i < 2; i++) {
        float4 four = four_of_weights(weights, output, slice * SLICE + piece * 8 + 4 * i);
        held[i] = four.x, held[2 + i] = four.y, held[4 + i] = four.z, held[6 + i] = four.w;
    }
#else
    // A lane takes eight neighbours, and a piece has two of them.
    UNROLL for (int lane = 0; lane < 4; lane++) {
        float4 four = four_of_weights(weights, output, slice * SLICE + lane * 8 + piece / 2 * 4);
        held[2 * lane] = piece % 2 ? four.z : four.x;
        held[2 * lane + 1] = piece % 2 ? four.w : four.y;
    }
#endif
}

// The joined values of all warps of the block.
__device__ __forceinline__ float of_warps(float value, bool greatest)
{
    __shared__ float joined[WARPS];
    UNROLL for (int apart = 1; apart < 32; apart *= 2) {
        float other = __shfl_xor_sync(~0u, value, apart);
        value = greatest ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) joined[threadIdx.x / 32] = value;
    __syncthreads();
    value = joined[0];
    UNROLL for (int warp = 1; warp < WARPS; warp++)
        value = greatest ? fmaxf(value, joined[warp]) : value + joined[warp];
    return value;
}

// Splits a piece and lays it.  Returns how many of its numbers are small.
__device__ __forceinline__ float lay_piece(const float held[8], float scale, narrow* to)
{
    struct row_scale row_scale = {over(14, scale), 0.0f};
    __align__(16) narrow both[2][8];
    float small = 0.0f;
    UNROLL for (int e = 0; e < 8; e++) {
        small += is_small(held[e], scale) ? 1.0f : 0.0f;
        split_weight(held[e], row_scale, both[0] + e, 8);
    }
    *(uint4*)to = *(uint4*)both[0];
    *(uint4*)(to + PLANE) = *(uint4*)both[1];
    return small;
}

// Measures a part of a row of weights, splits it and lays it.  Grid: a block a part of a row, the
// padded rows too.
__global__ __launch_bounds__(PACK_THREADS) void KERNEL(split_parts)(const float* weights,
                                                                    struct row_scale* __restrict__ row_scales,
                                                                    element* __restrict__ numbers)
{
    GRIDDEPCONTROL_WAIT();
    GRIDDEPCONTROL_LAUNCH();
    int output = blockIdx.x / PARTS, part = blockIdx.x % PARTS, first = part * PART_SLICES;
    int pieces = min(PART_PIECES, 4 * (SLICES - first));
    float most = 0.0f, small = 0.0f, held[8];
    UNROLL_BY(4) for (int p = threadIdx.x; p < pieces; p += PACK_THREADS) {
        take_piece(weights, output, first + p / 4, p % 4, held);
        UNROLL for (int e = 0; e < 8; e++) most = fmaxf(most, fabsf(held[e]));
    }
    most = of_warps(most, true);
    float scale = scale_to(most);
    UNROLL_BY(4) for (int p = threadIdx.x; p < pieces; p += PACK_THREADS) {
        // A single piece is still there.
        if (PART_PIECES > PACK_THREADS)
            take_piece(weights, output, first + p / 4, p % 4, held);
        narrow* to = numbers + (size_t)(first + p / 4) * 2 * PLANE + (p % 4 * TILE_O + output) * 8;
        small += lay_piece(held, scale, to);
    }
    small = of_warps(small, false);
    struct row_scale row_scale = {most == 0.0f ? 0.0f : over(14, scale), small};
    if (threadIdx.x == 0 && output < OUTPUTS) row_scales[part * OUTPUTS + output] = row_scale;
}
