// A ring of tiles of a row, which the bulk copy engine fills ahead of a block that takes every so
// many of them.  CUDA only, from sm_90 on.
//
// A tile is LOADS vectors for each of THREADS threads; the ring holds STAGES of them.

#pragma once
#include "common/barriers.h"
#include "common/pieces.h"

#define TILE (THREADS * LOADS)

struct ring {
    vector* held;
    unsigned full;
    const vector* row;
    int64 count, tiles;
    int64 tile, ahead;
    struct turn turn;
};

// Asks for the tile that is next ahead, or for what is left of it at the end of the row.
__device__ __forceinline__ void bring_tile(struct ring* ring, int at)
{
    int64 left = ring->count - ring->ahead * TILE;
    unsigned bytes = (left < TILE ? (int)left : TILE) * sizeof(vector);
    expect_bytes(bytes, FULL(ring->full, at));
    copy_bytes((unsigned)__cvta_generic_to_shared(ring->held + at * TILE),
               ring->row + ring->ahead * TILE, bytes, FULL(ring->full, at));
    ring->ahead += gridDim.x;
}

// A ring over the `count` vectors of a row, its first tiles under way; all threads call it.
__device__ __forceinline__ struct ring ring_of(vector* held, word* barriers, const given* row,
                                               int64 count)
{
    struct ring ring;
    ring.held = held;
    ring.full = (unsigned)__cvta_generic_to_shared(barriers);
    ring.row = (const vector*)row;
    ring.count = count;
    ring.tiles = (count + TILE - 1) / TILE;
    ring.tile = ring.ahead = blockIdx.x;
    ring.turn.at = ring.turn.round = 0;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) expect(1, FULL(ring.full, i));
        barriers_ready();
        for (int i = 0; i < STAGES && ring.ahead < ring.tiles; i++) bring_tile(&ring, i);
    }
    __syncthreads();
    return ring;
}

// The present tile, once it has come.
__device__ __forceinline__ const vector* await_tile(const struct ring* ring)
{
    wait(FULL(ring->full, ring->turn.at), ring->turn.round);
    return ring->held + ring->turn.at * TILE;
}

// Vectors from the beginning of the present tile to the row's end.
__device__ __forceinline__ int64 left_of(const struct ring* ring)
{
    return ring->count - ring->tile * TILE;
}

// All threads have read the present tile: another one may come in its place.
__device__ __forceinline__ void give_tile(struct ring* ring)
{
    __syncthreads();
    if (threadIdx.x == 0 && ring->ahead < ring->tiles) bring_tile(ring, ring->turn.at);
    ring->tile += gridDim.x;
    advance(&ring->turn, STAGES);
}
