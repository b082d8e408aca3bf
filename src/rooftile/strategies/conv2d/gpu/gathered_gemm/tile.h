// A tile of the gathered matrix product: which results it has, where their inputs lie, and how
// those come to shared memory.
//
// A word is what a register of an instruction's operand takes: a number of 32 bits, or two of 16
// bits, neighbours in a row where COLUMN_PAIRS, else of one pixel in two channels.  A tile holds a
// word for each column, or for every second one where PACKED; with SHIFT it begins a column earlier,
// so that such pairs lie in memory as whole words.

#pragma once

#include "common/mma.h"
#include "common/narrow.h"
#include "common/formats.h"
#include "common/tf32.h"
#include "conv2d/gpu/conv2d.h"

#define THREADS (32 * WARPS)
#define SUM_ROWS ((TILE_ROWS - 1) * POOL_STRIDE_Y + POOL_HEIGHT)
#define SUM_COLUMNS ((TILE_COLUMNS - 1) * POOL_STRIDE_X + POOL_WIDTH)
#define PIXELS (TILE_IMAGES * SUM_ROWS * SUM_COLUMNS)
#define TILES_DOWN ((ROWS + TILE_ROWS - 1) / TILE_ROWS)
#define TILES_RIGHT ((COLUMNS + TILE_COLUMNS - 1) / TILE_COLUMNS)
#define PLANE_WORDS (IN_ROWS * IN_WORDS)
#define IMAGE_WORDS (PLANES * PLANE_WORDS)
#define TILE_WORDS (TILE_IMAGES * IMAGE_WORDS)
#define COLUMNS_A_WORD (PACKED ? 2 : 1)
#define CHANNELS_A_WORD (CORES != TF32 && !COLUMN_PAIRS ? 2 : 1)

// The first image, row and column of a tile's results.
struct place { int image, row, column; };

__device__ __forceinline__ struct place place_of(int index)
{
    struct place place;
    place.column = index % TILES_RIGHT * TILE_COLUMNS;
    place.row = index / TILES_RIGHT % TILES_DOWN * TILE_ROWS;
    place.image = index / (TILES_RIGHT * TILES_DOWN) * TILE_IMAGES;
    return place;
}

// Bytes from a sum's pixel to the word of the sum.  Words beyond the last meet weights of zero.
__device__ __forceinline__ int offset_of(int word)
{
    int q = word % TAPS_RIGHT, p = word / TAPS_RIGHT % MASK_HEIGHT;
    int plane = word / (TAPS_RIGHT * MASK_HEIGHT);
    return word < SUM_WORDS ? 4 * (plane * PLANE_WORDS + p * IN_WORDS + q * TAP_STEP) : 0;
}

// Bytes to a pixel of the tile.
__device__ __forceinline__ int pixel_place(int pixel)
{
    int j = pixel % SUM_COLUMNS, i = pixel / SUM_COLUMNS % SUM_ROWS;
    int n = pixel / (SUM_ROWS * SUM_COLUMNS);
    return n * (4 * IMAGE_WORDS) + i * (4 * STRIDE_Y * IN_WORDS) + j * (4 * STRIDE_X / COLUMNS_A_WORD);
}

// The index of an input in its image.
#if X_LAST
#define INPUT_AT(c, i, j) (((i) * WIDTH + (j)) * CHANNELS + (c))
#else
#define INPUT_AT(c, i, j) (((c) * HEIGHT + (i)) * WIDTH + (j))
#endif
