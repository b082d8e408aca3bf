// Tiles that threads load to shared memory by fours of neighbours, of a matrix in either order:
// LOADERS threads together, TILE_K terms at a time.

#pragma once

#include "gemm/gpu/operands.h"

#define LOADS(tile) (((tile) * (TILE_K / 4) + LOADERS - 1) / LOADERS)
// Four floats more than are used, so that columns begin in different banks.
#define PITCH(tile) ((tile) + 4)

// Four neighbours of a line from `at` on, zeros beyond its end.
__device__ __forceinline__ float4 four(const GLOBAL given* line, int at, int end, bool vectors)
{
    if (vectors)
        return at < end ? *(const GLOBAL float4*)(line + at) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    return make_float4(at < end ? line[at] : 0.0f, at + 1 < end ? line[at + 1] : 0.0f,
                       at + 2 < end ? line[at + 2] : 0.0f, at + 3 < end ? line[at + 3] : 0.0f);
}

// The place in a tile of a thread's four of load `e`: places across it, and terms.
__device__ __forceinline__ int place_of(int e, int tile, bool along)
{
    return along ? e / (TILE_K / 4) : e % (tile / 4) * 4;
}
__device__ __forceinline__ int term_of(int e, int tile, bool along)
{
    return along ? e % (TILE_K / 4) * 4 : e / (tile / 4);
}

// Fetches this thread's elements of a tile from `first` and term `start` on.  Terms lie `along` a
// matrix's lines, or across them.
__device__ __forceinline__ void fetch(const GLOBAL given* __restrict__ matrix, int first, int size,
                                      int start, int inner, int tile, bool along, bool vectors,
                                      int thread, float4* held)
{
    UNROLL for (int l = 0; l < LOADS(tile); l++) {
        int place = first + place_of(thread + l * LOADERS, tile, along);
        int term = start + term_of(thread + l * LOADERS, tile, along);
        int line = along ? place : term, lines = along ? size : inner;
        int length = along ? inner : size;
        // Lines beyond the last have no elements.
        held[l] = four(matrix + (int64)(line < lines ? line : 0) * length, along ? term : place,
                       line < lines ? length : 0, vectors);
    }
}

// Puts them into shared memory, [terms][places].
__device__ __forceinline__ void keep(SHARED float* to, int tile, bool along, int thread,
                                     const float4* held)
{
    UNROLL for (int l = 0; l < LOADS(tile); l++) {
        int e = thread + l * LOADERS;
        if (e >= tile * (TILE_K / 4)) continue;
        SHARED float* at = to + term_of(e, tile, along) * PITCH(tile) + place_of(e, tile, along);
        if (!along) {
            *(SHARED float4*)at = held[l];
            continue;
        }
        at[0] = held[l].x;
        at[PITCH(tile)] = held[l].y;
        at[2 * PITCH(tile)] = held[l].z;
        at[3 * PITCH(tile)] = held[l].w;
    }
}

// Reads `count` values of a thread from shared memory, in fours of neighbours `apart` from each
// other.
__device__ __forceinline__ void four_by_four(const SHARED float* from, int count, int apart,
                                             float* values)
{
    UNROLL for (int q = 0; q < count / 4; q++) {
        float4 held = *(const SHARED float4*)(from + q * apart);
        values[4 * q] = held.x;
        values[4 * q + 1] = held.y;
        values[4 * q + 2] = held.z;
        values[4 * q + 3] = held.w;
    }
}
