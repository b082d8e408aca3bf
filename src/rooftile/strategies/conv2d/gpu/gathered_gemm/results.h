// The epilogue of a tile's sums: bias, activation, pool, and stores in whole lines.

#pragma once

#include "conv2d/gpu/gathered_gemm/tile.h"

#if OUT_LAST
#define STAGED_AT(map, pixel) ((pixel) * (TILE_MAPS + 8) + (map))
#else
#define STAGED_AT(map, pixel) ((map) * STAGED_PITCH + (pixel))
#endif

// The index of a map's word among the weights of its tile.
#define TAP_AT(map, word)                                                                       \
    ((((word) / 8 * SETS + (map) / 8) * 32 + (map) % 8 * 4 + (word) % 4) * 2 + (word) / 4 % 2)

// The weight of a channel's tap, as it is multiplied.
__device__ __forceinline__ float tap_of(const unsigned* weights, int map, int c, int p, int q)
{
#if CORES == TF32
    return __uint_as_float(weights[TAP_AT(map, (c * MASK_HEIGHT + p) * TAPS_RIGHT + q)]);
#else
    int plane = c / CHANNELS_A_WORD, at = COLUMN_PAIRS ? q + SHIFT : c;
    int right = COLUMN_PAIRS ? at / 2 : q;
    unsigned pair = weights[TAP_AT(map, (plane * MASK_HEIGHT + p) * TAPS_RIGHT + right)];
    return widened(at % 2 ? pair >> 16 : pair);
#endif
}

// An input as it is multiplied.
__device__ __forceinline__ float operand(given x)
{
#if CORES != TF32
    return VALUE(x);
#elif NUMBERS == 2
    return x;
#else
    return tf32(x);
#endif
}

// A sum of the tile from its definition.
__device__ __forceinline__ float direct_sum_of(const given* x, const unsigned* weights,
                                            struct place place, int pixel, int map, int images)
{
    int n = place.image + pixel / (SUM_ROWS * SUM_COLUMNS);
    int top = (place.row * POOL_STRIDE_Y + pixel / SUM_COLUMNS % SUM_ROWS) * STRIDE_Y - PAD_Y;
    int left = (place.column * POOL_STRIDE_X + pixel % SUM_COLUMNS) * STRIDE_X - PAD_X;
    float sum = 0.0f;
    if (n >= images) return sum;
    const given* image = x + (size_t)n * IMAGE_SIZE;
    ROLLED for (int k = 0; k < FILTER_SIZE; k++) {
        int c = k / MASK_SIZE, p = k / MASK_WIDTH % MASK_HEIGHT, q = k % MASK_WIDTH;
        bool there = top + p >= 0 && top + p < HEIGHT && left + q >= 0 && left + q < WIDTH;
        float value = there ? operand(image[INPUT_AT(c, top + p, left + q)]) : 0.0f;
        sum += tap_of(weights, map, c, p, q) * value;
    }
    return sum;
}

// The result of a window whose first sum is of this pixel.
__device__ __forceinline__ float finished_at(const float* staged, int map, int pixel, float shift)
{
    float pooled = POOL_START;
    UNROLL for (int a = 0; a < POOL_HEIGHT; a++)
        UNROLL for (int b = 0; b < POOL_WIDTH; b++) {
            float sum = staged[STAGED_AT(map, pixel + a * SUM_COLUMNS + b)];
            pooled = POOL_WITH(pooled, activate(sum + shift));
        }
    return POOL_END(pooled);
}

// Stores adjacent results.
__device__ __forceinline__ void store_piece(result* out, const float y[STORED])
{
#if STORED == 4
    *(result_4*)out = RESULT_4(y[0], y[1], y[2], y[3]);
#elif STORED == 2
    *(result_2*)out = RESULT_2(y[0], y[1]);
#else
    *out = RESULT(y[0]);
#endif
}

#if OUT_LAST
// Threads share out pieces of maps, then pixels.
__device__ __forceinline__ void store_results(const float* staged, const float* bias, result* out,
                                              struct place place, int images)
{
    int first_map = blockIdx.y * TILE_MAPS;
    const int pieces = TILE_MAPS / STORED, places = TILE_IMAGES * TILE_ROWS * TILE_COLUMNS;
    UNROLL_BY(2) for (int e = threadIdx.x; e < places * pieces; e += THREADS) {
        int map = e % pieces * STORED, j = e / pieces % TILE_COLUMNS;
        int i = e / (pieces * TILE_COLUMNS) % TILE_ROWS;
        int n = e / (pieces * TILE_COLUMNS * TILE_ROWS);
        int pixel = (n * SUM_ROWS + i * POOL_STRIDE_Y) * SUM_COLUMNS + j * POOL_STRIDE_X;
        n += place.image, i += place.row, j += place.column;
        if (first_map + map >= MAPS || n >= images || i >= ROWS || j >= COLUMNS) continue;
        float y[STORED];
        UNROLL for (int k = 0; k < STORED; k++)
            y[k] = finished_at(staged, map + k, pixel, __ldg(bias + first_map + map + k));
        store_piece(out + (size_t)n * RESULT_SIZE + (i * COLUMNS + j) * MAPS + first_map + map, y);
    }
}
#else
// Warps share out lines: the rows of a map that the tile has, which follow each other in memory
// where LINE_ROWS says so.
__device__ __forceinline__ void store_results(const float* staged, const float* bias, result* out,
                                              struct place place, int images)
{
    int first_map = blockIdx.y * TILE_MAPS, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int runs = TILE_ROWS / LINE_ROWS, lines = TILE_IMAGES * TILE_MAPS * runs;
    ROLLED for (int line = warp; line < lines; line += WARPS) {
        int i = line % runs * LINE_ROWS, map = line / runs % TILE_MAPS;
        int n = line / (runs * TILE_MAPS), row = place.row + i;
        if (first_map + map >= MAPS || place.image + n >= images || row >= ROWS) continue;
        float shift = __ldg(bias + first_map + map);
        int first = (n * SUM_ROWS + i * POOL_STRIDE_Y) * SUM_COLUMNS;
        int count = LINE_ROWS > 1 ? min(LINE_ROWS, ROWS - row) * TILE_COLUMNS
                                  : min(TILE_COLUMNS, COLUMNS - place.column);
        size_t at = ((size_t)(place.image + n) * MAPS + first_map + map) * (ROWS * COLUMNS);
        result* to = out + at + row * COLUMNS + place.column;
        UNROLL_BY(4) for (int e = lane * STORED; e < count; e += 32 * STORED) {
            float y[STORED];
            UNROLL for (int k = 0; k < STORED; k++)
                y[k] = finished_at(staged, map, first + (e + k) * POOL_STRIDE_X, shift);
            store_piece(to + e, y);
        }
    }
}
#endif
