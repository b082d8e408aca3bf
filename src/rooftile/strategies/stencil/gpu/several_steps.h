// Common parts of rungs that make several steps of a stencil in one launch: a tile with its rims,
// the loads and stores of a thread's places of a plane, and the places of others.
//
// A thread holds THREAD_ROWS x THREAD_COLUMNS neighbouring places in registers and finds the places
// around them in shared memory: plane[column of a thread][row][thread], a column each, so that
// neighbouring lanes meet neighbouring banks.  Rims of zeros around them stand for places that no
// thread has; nothing that depends on them is stored.

#pragma once

#include "common/volumes.h"

#define THREADS (THREADS_X * THREADS_Y)
// The tile's loss on each side after all steps.
#define RIM_Y (LEVELS * BEFORE_Y)
#define RIM_X (LEVELS * BEFORE_X)
// Places of a tile, rims included.
#define PLACES_Y (THREADS_Y * THREAD_ROWS)
#define PLACES_X (THREADS_X * THREAD_COLUMNS)
// Threads beyond the first and last whose places neighbours would have.  A row of a plane holds a
// place of each, and as many more as lead the warps' reads apart: PITCH in all.
#define MORE_X ((BEFORE_X + THREAD_COLUMNS - 1) / THREAD_COLUMNS)
#define COLUMN_SIZE ((PLACES_Y + 2 * BEFORE_Y) * PITCH)
#define HELD_SIZE (THREAD_COLUMNS * COLUMN_SIZE)
// Sums that wait for planes to come.
#define OPEN (MASK_DEPTH - 1)
// A thread's places with those around them.
#define PATCH_Y (THREAD_ROWS + 2 * BEFORE_Y)
#define PATCH_X (THREAD_COLUMNS + 2 * BEFORE_X)

CONSTANT_ARRAY(float, taps, TAPS)

// A thread's places of plane z, of which the first is at (i, j).
__device__ __forceinline__ void load(const GLOBAL float* x, int z, int i, int j,
                                     float to[THREAD_ROWS][THREAD_COLUMNS])
{
    UNROLL for (int y = 0; y < THREAD_ROWS; y++) {
#if PAIRS
        int inside = z >= 0 && z < DEPTH && i + y >= 0 && i + y < HEIGHT && j >= 0 && j < WIDTH;
        float2 two = make_float2(0.0f, 0.0f);
        if (inside)
            two = ((const GLOBAL float2*)x)[((int64)z * HEIGHT + i + y) * (WIDTH / 2) + j / 2];
        to[y][0] = two.x, to[y][1] = two.y;
#else
        UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) to[y][n] = element(x, z, i + y, j + n);
#endif
    }
}

// A place of a plane in shared memory, y rows and n columns from the thread's first, `own`.
__device__ __forceinline__ float place_at(const SHARED float* own, int y, int n)
{
    // Counted from a thread so far to the left that nothing is negative.
    int column = n + MORE_X * THREAD_COLUMNS;
    int thread = column / THREAD_COLUMNS - MORE_X;
    return own[column % THREAD_COLUMNS * COLUMN_SIZE + y * PITCH + thread];
}

// Put a thread's places where its block finds them.
__device__ __forceinline__ void show(SHARED float* own, float mine[THREAD_ROWS][THREAD_COLUMNS])
{
    UNROLL for (int y = 0; y < THREAD_ROWS; y++)
        UNROLL for (int n = 0; n < THREAD_COLUMNS; n++)
            own[n * COLUMN_SIZE + y * PITCH] = mine[y][n];
}

// A bit for each of a thread's places, the first of which is at (i, j), that is outside every
// plane.
__device__ __forceinline__ unsigned ghosts_of(int i, int j)
{
    unsigned found = 0;
    UNROLL for (int y = 0; y < THREAD_ROWS; y++)
        UNROLL for (int n = 0; n < THREAD_COLUMNS; n++)
            if (i + y < 0 || i + y >= HEIGHT || j + n < 0 || j + n >= WIDTH)
                found |= 1u << (y * THREAD_COLUMNS + n);
    return found;
}

// Make ghost cells, which are zero in every step, of a thread's places outside the grid.
__device__ __forceinline__ void clear_ghosts(int z, unsigned ghosts,
                                             float mine[THREAD_ROWS][THREAD_COLUMNS])
{
    unsigned beside = z < 0 || z >= DEPTH ? ~0u : ghosts;
    // Few warps have any.
    if (!beside) return;
    UNROLL for (int y = 0; y < THREAD_ROWS; y++)
        UNROLL for (int n = 0; n < THREAD_COLUMNS; n++)
            if (beside >> (y * THREAD_COLUMNS + n) & 1) mine[y][n] = 0.0f;
}

// Store a thread's places of plane z that the tile still has after all steps.
__device__ __forceinline__ void store(GLOBAL float* out, int z, int row, int column, int last,
                                      float mine[THREAD_ROWS][THREAD_COLUMNS])
{
    UNROLL for (int y = 0; y < THREAD_ROWS; y++) {
        int r = row + y - RIM_Y, s = column - RIM_X;
        if (r < 0 || r >= TILE_Y) continue;
#if PAIRS
        if (s >= 0 && s < TILE_X && TILE_ROW + r < HEIGHT && TILE_COLUMN + s < WIDTH)
            ((GLOBAL float2*)out)[((int64)z * HEIGHT + TILE_ROW + r) * (WIDTH / 2) +
                                  (TILE_COLUMN + s) / 2] = make_float2(mine[y][0], mine[y][1]);
#else
        UNROLL for (int n = 0; n < THREAD_COLUMNS; n++)
            if (s + n >= 0 && s + n < TILE_X)
                put(out, z, TILE_ROW + r, TILE_COLUMN + s + n, mine[y][n], last);
#endif
    }
}
