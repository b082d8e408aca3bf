// The sizes of a stage, the elements of the cores, and how weights are laid.

#pragma once

#include "common/narrow.h"

#define ROWS (64 * WARPGROUPS)
#define X_BYTES (X_NARROW ? 2 : 4)
#define W_BYTES (CORES == TF32 ? 4 : 2)
#define SLICE (128 / X_BYTES)
#define SLICES (PADDED_INPUTS / SLICE)
// Of the cores, in a slice; a lane's words of a row, of one of a slice's two pieces, are as many.
#define STEPS (SLICE * W_BYTES / 32)
#define PLANE_BYTES (TILE_O * SLICE * W_BYTES)
#define STAGE_BYTES (ROWS * 128 + NUMBERS * PLANE_BYTES)

#if CORES == TF32
typedef float element;
#else
typedef narrow element;
#endif

// Elements of a plane: a slice's weights of a tile.
#define PLANE (PLANE_BYTES / W_BYTES)

// Which weight a number of a plane is, counted through all slices of all tiles.
struct place { int output, input; };

__device__ __forceinline__ struct place place_of(size_t e)
{
    const int piece = 16 / W_BYTES;
    int slice = e / PLANE % SLICES, tile = e / PLANE / SLICES, at = e % PLANE;
    int i = at % piece, half = at / (piece * TILE_O) % 2, step = at / (2 * piece * TILE_O);
    // The lane that holds it, of four, and where among the lane's inputs of the step.
    int lane = CORES == TF32 ? i : i / 2, among = CORES == TF32 ? half : 2 * half + i % 2;
    struct place place;
    place.output = tile * TILE_O + at / piece % TILE_O;
    place.input = slice * SLICE + lane * (SLICE / 4) + step * (CORES == TF32 ? 2 : 4) + among;
    return place;
}
