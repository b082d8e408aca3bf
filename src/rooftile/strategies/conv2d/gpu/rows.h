// Common parts of rungs whose threads own a map and slide a window of four columns along rows.
//
// A group makes RESULT_ROWS rows of the result, that is SUM_ROWS rows of the convolution, which
// read LINES rows of the image.  A thread keeps SPAN columns of them, in WINDOWS windows, and so
// needs LINE columns of the image; the taps of one window meet SEEN of them.

#pragma once

#include "conv2d/gpu/conv2d.h"

#define SUM_ROWS (RESULT_ROWS * POOL_HEIGHT)
#define LINES (SUM_ROWS + MASK_HEIGHT - 1)
#define WINDOWS (SPAN / 4)
#define LINE (SPAN + MASK_WIDTH - 1)
#define SEEN (MASK_WIDTH + 3)

// Sums of short spans are registers.  Whole rows have too many: they lie in private memory, where
// a loop finds them.
#if SPAN > 64
#define EACH_WINDOW ROLLED
#else
#define EACH_WINDOW UNROLL
#endif

// One map's mask of a channel, from weights[CHANNELS][MASK_HEIGHT][MASK_WIDTH][MAPS].
__device__ __forceinline__ void load_taps(float* taps, const GLOBAL float* weights, int c, int m)
{
    UNROLL for (int k = 0; k < MASK_SIZE; k++) taps[k] = weights[(c * MASK_SIZE + k) * MAPS + m];
}

__device__ __forceinline__ void start_sums(float4* sums, float bias)
{
    EACH_WINDOW for (int w = 0; w < WINDOWS; w++)
        UNROLL for (int a = 0; a < SUM_ROWS; a++)
            sums[w * SUM_ROWS + a] = make_float4(bias, bias, bias, bias);
}

// Adds what a window of line `l` gives to each row of sums whose mask reaches it.
__device__ __forceinline__ void slide(float4* sums, const float* seen, const float* taps, int l)
{
    UNROLL for (int a = 0; a < SUM_ROWS; a++)
        UNROLL for (int q = 0; q < MASK_WIDTH; q++)
            if (l >= a && l - a < MASK_HEIGHT) {
                float tap = taps[(l - a) * MASK_WIDTH + q];
                sums[a].x += tap * seen[q];
                sums[a].y += tap * seen[q + 1];
                sums[a].z += tap * seen[q + 2];
                sums[a].w += tap * seen[q + 3];
            }
}

// Activation and pool of one window of columns; `plane` is the map's, `column` the window's first.
__device__ __forceinline__ void store_window(GLOBAL float* plane, int first_row, int column,
                                             const float4* sums)
{
    float y[SUM_ROWS][4];
    UNROLL for (int a = 0; a < SUM_ROWS; a++) {
        y[a][0] = activate(sums[a].x);
        y[a][1] = activate(sums[a].y);
        y[a][2] = activate(sums[a].z);
        y[a][3] = activate(sums[a].w);
    }
    UNROLL for (int i = 0; i < RESULT_ROWS; i++)
        UNROLL for (int j = 0; j < 4 / POOL_WIDTH; j++) {
            float pooled = POOL_START;
            UNROLL for (int a = 0; a < POOL_HEIGHT; a++)
                UNROLL for (int b = 0; b < POOL_WIDTH; b++)
                    pooled = POOL_WITH(pooled, y[i * POOL_HEIGHT + a][j * POOL_WIDTH + b]);
            int row = first_row + i, at = column / POOL_WIDTH + j;
            if (row < ROWS && at < COLUMNS) plane[row * COLUMNS + at] = pooled;
        }
}

__device__ __forceinline__ void store_rows(GLOBAL float* out, int n, int m, int first_row,
                                           const float4* sums)
{
    GLOBAL float* plane = out + ((size_t)n * MAPS + m) * ROWS * COLUMNS;
    EACH_WINDOW for (int w = 0; w < WINDOWS; w++)
        store_window(plane, first_row, blockIdx.y * SPAN + 4 * w, sums + w * SUM_ROWS);
}
