// Common parts of kernels of weighted sums over volumes: the place of a block's tile, loads and
// stores.
//
// x[images][CHANNELS][DEPTH][HEIGHT][WIDTH] gives out[images][MAPS][PLANES][ROWS][COLUMNS] with
// taps[MAPS][CHANNELS][MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH].
//
// A place (z, i, j) is the input's beneath the mask's centre. The sum there is the result's (z -
// CROP_Z, i - CROP_Y, j - CROP_X); of steps before the last one, whose kernels are given `last` 0,
// nothing is cropped. Sums are made from the place (FIRST_Z, FIRST_Y, FIRST_X) on, at COVER_Z x
// COVER_Y x COVER_X places.
// Grid: x over tiles of TILE_Z x TILE_Y x TILE_X places, columns first, then rows, planes, maps and
// images.  Offsets of rows and planes are 64-bit, so that a volume may have more than 2^31 elements.

#pragma once

#define PLANE_SIZE ((int64)HEIGHT * WIDTH)
#define VOLUME_SIZE (DEPTH * PLANE_SIZE)
#define RESULT_SIZE ((int64)PLANES * ROWS * COLUMNS)
#define MASK_SIZE (MASK_DEPTH * MASK_HEIGHT * MASK_WIDTH)
#define TAPS (MAPS * CHANNELS * MASK_SIZE)

// The block's tile.
#define TILE_COLUMN (FIRST_X + (int)(blockIdx.x % TILES_X) * TILE_X)
#define TILE_ROW (FIRST_Y + (int)(blockIdx.x / TILES_X % TILES_Y) * TILE_Y)
#define TILE_PLANE (FIRST_Z + (int)(blockIdx.x / (TILES_X * TILES_Y) % TILES_Z) * TILE_Z)
// Its image and map together, and apart.
#define TILE_VOLUME ((int)(blockIdx.x / (TILES_X * TILES_Y * TILES_Z)))
#define TILE_IMAGE (TILE_VOLUME / MAPS)
#define TILE_MAP (TILE_VOLUME % MAPS)

// Of a star's box only the taps on the axes count.
#define IS_TAP(d, p, q) \
    (!STAR || ((d) == BEFORE_Z) + ((p) == BEFORE_Y) + ((q) == BEFORE_X) >= 2)

// The index of a tap's weight.
#define TAP(m, c, d, p, q) \
    (((m) * CHANNELS + (c)) * MASK_SIZE + ((d) * MASK_HEIGHT + (p)) * MASK_WIDTH + (q))

// A constant array that a kernel hands to a function.
#ifdef __OPENCL_VERSION__
#define CONSTANT_GIVEN(name) , name
#else
#define CONSTANT_GIVEN(name)
#endif

// One element of a volume; ghost cells are zero.
__device__ __forceinline__ float element(const GLOBAL float* volume, int z, int i, int j)
{
    int inside = z >= 0 && z < DEPTH && i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH;
    return inside ? volume[((int64)z * HEIGHT + i) * WIDTH + j] : 0.0f;
}

// The input of a channel of the block's image.
__device__ __forceinline__ const GLOBAL float* channel_of(const GLOBAL float* x, int c)
{
    return x + ((int64)TILE_IMAGE * CHANNELS + c) * VOLUME_SIZE;
}

// Store the sum at a place, unless it is beyond the result.
__device__ __forceinline__ void put(GLOBAL float* out, int z, int i, int j, float sum, int last)
{
    if (last) {
        z -= CROP_Z, i -= CROP_Y, j -= CROP_X;
        if (z >= 0 && z < PLANES && i >= 0 && i < ROWS && j >= 0 && j < COLUMNS)
            out[TILE_VOLUME * RESULT_SIZE + ((int64)z * ROWS + i) * COLUMNS + j] = sum;
    } else if (z < DEPTH && i < HEIGHT && j < WIDTH)
        out[((int64)z * HEIGHT + i) * WIDTH + j] = sum;
}
