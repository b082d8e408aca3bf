// The sizes of a stage, and how weights are laid in it.

#pragma once

#include "gemm/gpu/tensor_cores.h"

// 1 if x is stored as x[INPUTS][images], so that lines of a stage are terms.
#ifndef X_ACROSS
#define X_ACROSS 0
#endif

#define ROWS (64 * WARPGROUPS)
#define X_BYTES (X_NARROW ? 2 : 4)
#define W_BYTES (CORES == TF32 ? 4 : 2)
#define SLICE (128 / X_BYTES)
#define SLICES (PADDED_INPUTS / SLICE)
// Instructions in the depth of a slice. A lane has as many words of a row in each of a slice's two
// pieces.
#define INSTRUCTIONS (SLICE * W_BYTES / 32)
#define PLANE_BYTES (TILE_O * SLICE * W_BYTES)
#define STAGE_BYTES (ROWS * 128 + NUMBERS * PLANE_BYTES)

// Elements of a plane: a slice's weights of a tile, one of their NUMBERS.
#define PLANE (PLANE_BYTES / W_BYTES)

// Which weight an element is, counted through the planes of all slices of all tiles.
struct place { int output, input; };

__device__ __forceinline__ struct place place_of(size_t e)
{
    const int piece = 16 / W_BYTES;
    int slice = e / PLANE % SLICES, tile = e / PLANE / SLICES, at = e % PLANE;
    int i = at % piece, half = at / (piece * TILE_O) % 2, n = at / (2 * piece * TILE_O);
    // Which of four lanes holds it, and where among the lane's inputs of instruction n.
    int lane = CORES == TF32 ? i : i / 2, among = CORES == TF32 ? half : 2 * half + i % 2;
    struct place place;
    place.output = tile * TILE_O + at / piece % TILE_O;
    among += n * (CORES == TF32 ? 2 : 4);
    // A lane takes neighbours or, where lines are terms, every fourth.
    place.input = slice * SLICE + (X_ACROSS ? 4 * among + lane : lane * (SLICE / 4) + among);
    return place;
}
