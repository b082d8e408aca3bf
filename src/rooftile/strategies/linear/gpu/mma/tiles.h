// Tensor cores by `mma.sync`: tiles, the copies of their slices, the instruction.
//
// A slice is SLICE inputs of a tile's images and outputs.  A text says what it holds of a warp's
// sums, and how it multiplies a slice.  The loop over slices is in its kernel: in a function of its
// own it would be compiled to other instructions.  A weight is NUMBERS elements.

#pragma once

#include "common/copies.h"
#include "common/mma.h"
#include "gemm/gpu/tensor_cores.h"

#define SLICE 32
#define TILE_B (WARPS_B * WARP_B)
#define TILE_O (WARPS_O * WARP_O)
#define THREADS (32 * WARPS_B * WARPS_O)
#define TILES_ACROSS ((OUTPUTS + TILE_O - 1) / TILE_O)
#define X_ROW (X_NARROW ? 64 : 128)
#define W_ROW (SLICE * NUMBERS * (int)sizeof(element))
#define X_BYTES (TILE_B * X_ROW)
#define STAGE_BYTES (X_BYTES + TILE_O * W_ROW)
#define PART_INPUTS ((PADDED_INPUTS / SLICE + PARTS - 1) / PARTS * SLICE)
#define ROWS (WARP_B / 8)
#define COLUMNS (WARP_O / 8)

#define X_PIECE (X_ALIGNED ? 16 / (int)sizeof(given) : 1)

// The address of 16 bytes of a row. Rows of 128 bytes are swizzled, so that the lanes' loads of two
// rows at a time meet all banks.
__device__ __forceinline__ int place_of(int row, int vector, int row_bytes)
{
    return row * row_bytes + (row_bytes == 128 ? vector ^ (row & 1) : vector) * 16;
}

// Starts to copy a slice of a tile.  Images beyond the last become zeros.
__device__ __forceinline__ void start_slice(char* stage, const given* x, const element* weights,
                                            int64 image, int images, int output, int input)
{
    const int x_pieces = X_ROW / (X_PIECE * (int)sizeof(given)), x_rows = THREADS / x_pieces;
    int row = threadIdx.x / x_pieces, at = threadIdx.x % x_pieces * X_PIECE;
    int byte = at * (int)sizeof(given), rows = input + at < INPUTS ? (int)(images - image) : 0;
    const given* from = x + (size_t)(image + row) * INPUTS + input + at;
    UNROLL for (int r = 0; r < TILE_B; r += x_rows) {
        if (TILE_B % x_rows && r + row >= TILE_B) break;
        bring(stage + place_of(r + row, byte / 16, X_ROW) + byte % 16, from + (size_t)r * INPUTS,
              X_PIECE * (int)sizeof(given), r + row < rows ? X_PIECE * (int)sizeof(given) : 0);
    }
    const int vectors = W_ROW / 16, w_rows = THREADS / vectors;
    int w_row = threadIdx.x / vectors, vector = threadIdx.x % vectors;
    const int pitch = NUMBERS * PADDED_INPUTS;
    const element* from_w = weights + (size_t)(output + w_row) * pitch + NUMBERS * input +
                            vector * (16 / (int)sizeof(element));
    UNROLL for (int r = 0; r < TILE_O; r += w_rows) {
        if (TILE_O % w_rows && r + w_row >= TILE_O) break;
        bring(stage + X_BYTES + place_of(r + w_row, vector, W_ROW),
              from_w + (size_t)r * pitch, 16, 16);
    }
}

// A block's tile, and its part of the inputs.
struct tile { int64 image; int output, input, slices; };

__device__ __forceinline__ struct tile tile_of_block()
{
    struct tile tile;
    tile.output = blockIdx.x % TILES_ACROSS * TILE_O;
    tile.image = (int64)(blockIdx.x / TILES_ACROSS) * TILE_B;
    tile.input = blockIdx.y * PART_INPUTS;
    tile.slices = (min(tile.input + PART_INPUTS, PADDED_INPUTS) - tile.input) / SLICE;
    return tile;
}
