// Common parts of rungs that make several steps of a star of three axes in one launch, with a
// barrier a plane: the sums of all steps are completed by a thread's own places before neighbours
// are read (see one_barrier.cu).

#pragma once

#include "several_steps.h"

// True if a launch makes its step t.
#if ALIKE
#define IS_MADE(t) 1
#else
#define IS_MADE(t) ((t) < levels)
#endif
// The index of the open sum in the loaded plane.
#define MIDDLE (BEFORE_Z - 1)
#define IN_ROWS(y) ((y) >= 0 && (y) < THREAD_ROWS)
#define IN_COLUMNS(n) ((n) >= 0 && (n) < THREAD_COLUMNS)

// Give a thread's places of a plane to its own open sums of a step; what is complete replaces them.
__device__ __forceinline__ void add_own(float mine[THREAD_ROWS][THREAD_COLUMNS],
                                        float open[OPEN][THREAD_ROWS][THREAD_COLUMNS]
                                            CONSTANT_ARGUMENT(float, taps))
{
    float made[THREAD_ROWS][THREAD_COLUMNS];
    UNROLL for (int y = 0; y < THREAD_ROWS; y++)
        UNROLL for (int n = 0; n < THREAD_COLUMNS; n++)
            UNROLL for (int k = 0; k < MASK_DEPTH; k++) {
                float sum = k < OPEN ? open[k][y][n] : 0.0f;
                sum += taps[TAP(0, 0, OPEN - k, BEFORE_Y, BEFORE_X)] * mine[y][n];
                if (k == 0)
                    made[y][n] = sum;
                else
                    open[k - 1][y][n] = sum;
            }
    UNROLL for (int y = 0; y < THREAD_ROWS; y++)
        UNROLL for (int n = 0; n < THREAD_COLUMNS; n++)
            UNROLL for (int s = -BEFORE_Y; s <= BEFORE_Y; s++) {
                if (s != 0 && IN_ROWS(y + s))
                    open[MIDDLE][y][n] +=
                        taps[TAP(0, 0, BEFORE_Z, BEFORE_Y + s, BEFORE_X)] * mine[y + s][n];
                if (s != 0 && IN_COLUMNS(n + s))
                    open[MIDDLE][y][n] +=
                        taps[TAP(0, 0, BEFORE_Z, BEFORE_Y, BEFORE_X + s)] * mine[y][n + s];
            }
    UNROLL for (int y = 0; y < THREAD_ROWS; y++)
        UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) mine[y][n] = made[y][n];
}

// Add the neighbours of a thread's places in the loaded plane to the sums of that plane.
__device__ __forceinline__ void add_around(const SHARED float* own,
                                           float sums[THREAD_ROWS][THREAD_COLUMNS]
                                               CONSTANT_ARGUMENT(float, taps))
{
    UNROLL for (int r = -BEFORE_Y; r < THREAD_ROWS + BEFORE_Y; r++)
        UNROLL for (int s = -BEFORE_X; s < THREAD_COLUMNS + BEFORE_X; s++) {
            if (IN_ROWS(r) == IN_COLUMNS(s)) continue;
            float value = place_at(own, r, s);
            UNROLL for (int y = 0; y < THREAD_ROWS; y++)
                if (IN_COLUMNS(s) && r - y >= -BEFORE_Y && r - y <= BEFORE_Y)
                    sums[y][s] += taps[TAP(0, 0, BEFORE_Z, BEFORE_Y + r - y, BEFORE_X)] * value;
            UNROLL for (int n = 0; n < THREAD_COLUMNS; n++)
                if (IN_ROWS(r) && s - n >= -BEFORE_X && s - n <= BEFORE_X)
                    sums[r][n] += taps[TAP(0, 0, BEFORE_Z, BEFORE_Y, BEFORE_X + s - n)] * value;
        }
}
