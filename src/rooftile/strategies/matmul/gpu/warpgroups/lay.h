// Lays b for the kernels of linear, whose weights it is, in one pass: read along its memory,
// whichever way it lies, turned in shared memory, and written as stages hold it.  And turns an a that
// lies transposed, since the copy engine brings whole pieces of its rows.

#pragma once

#include "linear/gpu/warpgroups/weights.h"

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

#define TURNED 32

// turned[images][INPUTS] from a[INPUTS][images].  Grid: x over tiles of TURNED x TURNED, along the
// images first.  Block: TURNED x 8.
__global__ __launch_bounds__(TURNED * 8) void turn(const float* __restrict__ a,
                                                   float* __restrict__ turned, int images)
{
    // A column more than is used: threads read down the columns, which lie in different banks.
    __shared__ float held[TURNED][TURNED + 1];
    int across = (images + TURNED - 1) / TURNED, x = threadIdx.x;
    int image = blockIdx.x % across * TURNED, input = blockIdx.x / across * TURNED;
    UNROLL for (int y = threadIdx.y; y < TURNED; y += 8)
        if (image + x < images && input + y < INPUTS)
            held[y][x] = a[(size_t)(input + y) * images + image + x];
    __syncthreads();
    UNROLL for (int y = threadIdx.y; y < TURNED; y += 8)
        if (image + y < images && input + x < INPUTS)
            turned[(size_t)(image + y) * INPUTS + input + x] = held[x][y];
}
