// A tile of the gathered matrix product: which results it has, where their inputs lie, and how
// those come to shared memory.
//
// A word is what a register of an instruction's operand takes: a number of 32 bits, or two of 16
// bits, neighbours in a row where COLUMN_PAIRS, else of one pixel in two channels.  A tile holds a
// word for each column, or for every second one where PACKED.

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

// Where an input lies in its image.
#if X_LAST
#define INPUT_AT(c, i, j) (((i) * WIDTH + (j)) * CHANNELS + (c))
#else
#define INPUT_AT(c, i, j) (((c) * HEIGHT + (i)) * WIDTH + (j))
#endif

// A cell of the tile, which holds a word: its place, and the input that the word begins with.
struct cell { int at, n, plane, i, j; };

// Cell `e` in the order in which inputs lie in memory.
__device__ __forceinline__ struct cell cell_of(int e, struct place place)
{
    struct cell cell;
    cell.n = e / IMAGE_WORDS;
#if X_LAST
    int plane = e % PLANES, at = e / PLANES % IN_WORDS, row = e / (PLANES * IN_WORDS) % IN_ROWS;
#else
    int at = e % IN_WORDS, row = e / IN_WORDS % IN_ROWS, plane = e / PLANE_WORDS % PLANES;
#endif
    cell.at = cell.n * IMAGE_WORDS + plane * PLANE_WORDS + row * IN_WORDS + at;
    cell.n += place.image;
    cell.plane = plane;
    cell.i = place.row * (POOL_STRIDE_Y * STRIDE_Y) - PAD_Y + row;
    cell.j = place.column * (POOL_STRIDE_X * STRIDE_X) - PAD_X + at * COLUMNS_A_WORD;
    return cell;
}

__device__ __forceinline__ bool inside(int channel, int i, int j)
{
    return channel < CHANNELS && i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH;
}

#if CORES == TF32
// Starts to copy a tile.  Ghost cells, and images beyond the last, are zeros.
__device__ __forceinline__ void start_tile(const float* x, struct place place, unsigned* tile,
                                           int images)
{
    UNROLL_BY(4) for (int e = threadIdx.x; e < TILE_WORDS; e += THREADS) {
        struct cell cell = cell_of(e, place);
        const float* image = x + (size_t)cell.n * IMAGE_SIZE;
        if (cell.n < images && inside(cell.plane, cell.i, cell.j))
            COPY_ASYNC(float, (float*)tile + cell.at,
                       image + INPUT_AT(cell.plane, cell.i, cell.j));
        else
            tile[cell.at] = 0;
    }
}
#else
__device__ __forceinline__ given input(const given* image, bool there, int channel, int i, int j)
{
    return there && inside(channel, i, j) ? image[INPUT_AT(channel, i, j)] : (given)0;
}

// Fills a tile.  Ghost cells, and images beyond the last, are zeros.
__device__ __forceinline__ void start_tile(const given* x, struct place place, unsigned* tile,
                                           int images)
{
    UNROLL_BY(4) for (int e = threadIdx.x; e < TILE_WORDS; e += THREADS) {
        struct cell cell = cell_of(e, place);
        const given* image = x + (size_t)cell.n * IMAGE_SIZE;
        bool there = cell.n < images;
        int channel = COLUMN_PAIRS ? cell.plane : 2 * cell.plane;
        given first = input(image, there, channel, cell.i, cell.j);
        given second = COLUMN_PAIRS ? input(image, there, channel, cell.i, cell.j + 1)
                                    : input(image, there, channel + 1, cell.i, cell.j);
#if X_NARROW
        tile[cell.at] = first | (unsigned)second << 16;
#else
        tile[cell.at] = pack(first, second);
#endif
    }
}
#endif
