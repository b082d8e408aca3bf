// Tiles of a line of 32-bit numbers in the stages of resident blocks (`common/waves.h`).  CUDA only,
// from sm_90 on.

#pragma once

#include "scan/gpu/tile.h"
#include "common/waves.h"

#define PIECE (ROWS * SPAN)
#define TILE (WARPS * PIECE)
#define STAGE_BYTES (TILE * 4)

// The first element of a tile, and of a warp's piece of it, in memory.
__device__ __forceinline__ int64 low_of(int64 tile, int64 tiles)
{
    return (REVERSE ? tiles - 1 - tile : tile) * TILE;
}
__device__ __forceinline__ int piece_of(int warp)
{
    return (REVERSE ? WARPS - 1 - warp : warp) * PIECE;
}

// This lane's vectors of a piece of a stage; elements after the line's last whole vector come from
// memory.
__device__ __forceinline__ void take_rows(struct rows* rows, const char* stage, int piece,
                                          const given* x, int64 low, int64 count)
{
    const given* tile = (const given*)stage;
    UNROLL for (int row = 0; row < ROWS; row++) {
        int64 at = vector_place(piece, row);
        if (low + at + WIDTH <= count) {
            struct given_vector vector = *(const struct given_vector*)(tile + at);
            take_up(rows->own[row], &vector);
        } else {
            UNROLL for (int e = 0; e < WIDTH; e++) {
                int64 one = low + at + (REVERSE ? WIDTH - 1 - e : e);
                rows->own[row][e] = one < count ? taken(x[one]) : IDENTITY;
            }
        }
    }
}

// One thread: fills stages with the whole vectors of tiles.
__device__ __forceinline__ void load_tiles(unsigned stages, unsigned ring, const given* x,
                                           int64 tiles, int64 count)
{
    struct pipeline_state now = {0, 0};
    for (int64 tile = blockIdx.x; tile < tiles; tile += ALL) {
        int64 low = low_of(tile, tiles), left = count - low;
        unsigned bytes = (unsigned)(left < TILE ? left : TILE) / WIDTH * WIDTH * 4;
        unsigned full = BARRIER(ring, FULL, now.stage);
        barrier_wait(BARRIER(ring, EMPTY, now.stage), now.phase ^ 1);
        arrive_and_expect_tx(bytes, full);
        if (bytes) tma_load_1d(stages + now.stage * STAGE_BYTES, x + low, bytes, full);
        advance(&now, STAGES);
    }
}
