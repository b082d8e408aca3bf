// Packs b for the kernels of linear, whose weights it is, in one pass: read along its memory, in
// either order, transposed in shared memory, and written as stages hold it. A transposed a is
// transposed back, since the copy engine copies whole pieces of its rows.

#pragma once

#include "matmul/gpu/turn.h"
#include "gemm/gpu/warpgroups/weights.h"

// Brings a slice of a tile's outputs to shared memory, with zeros around b.
__device__ __forceinline__ void hold(const float* b, float held[SLICE][TILE_O + 1], int slice,
                                     int tile)
{
    UNROLL_BY(8) for (int e = threadIdx.x; e < SLICE * TILE_O; e += PACK_THREADS) {
        int k = WEIGHTS_BY_INPUT ? e / TILE_O : e % SLICE;
        int o = WEIGHTS_BY_INPUT ? e % TILE_O : e / SLICE;
        int input = slice * SLICE + k, output = tile * TILE_O + o;
        size_t at = WEIGHTS_BY_INPUT ? (size_t)input * OUTPUTS + output
                                     : (size_t)output * INPUTS + input;
        held[k][o] = input < INPUTS && output < OUTPUTS ? b[at] : 0.0f;
    }
}

// The number of shared memory that is element `at` of a plane.
__device__ __forceinline__ float number_of(const float held[SLICE][TILE_O + 1], int at)
{
    // Slices and tiles are counted by blocks, so an element's place is that in the first.
    struct place place = place_of(at);
    return held[place.input][place.output];
}
