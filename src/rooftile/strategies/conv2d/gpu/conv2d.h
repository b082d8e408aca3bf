// Common parts of conv2d's texts. The problem's sizes are macros:
//   CHANNELS HEIGHT WIDTH MAPS MASK_HEIGHT MASK_WIDTH STRIDE_Y STRIDE_X PAD_Y PAD_X
//   DILATION_Y DILATION_X CONV_GROUPS (1 in texts that do not name them)
//   CONV_ROWS CONV_COLUMNS (of the convolution, as far as the pool reaches)
//   ROWS COLUMNS (of the result)
//   POOL_HEIGHT POOL_WIDTH POOL_STRIDE_Y POOL_STRIDE_X (1x1 without a pool)
// POOL_KIND POOL_ACTIVATION ACTIVATION (fused)
//   BOUNDARY (0 ghost cells are zeros, 1 they are the nearest pixels, 2 interior: positions whose
//   mask meets one are zeros)
// Offsets of images are 64-bit, so that arrays may have more than 2^31 elements.

#pragma once

#include "common/fused.h"

#define IMAGE_SIZE (CHANNELS * HEIGHT * WIDTH)
#define RESULT_SIZE (MAPS * ROWS * COLUMNS)
#define MASK_SIZE (MASK_HEIGHT * MASK_WIDTH)
// Rows and columns from a mask's first tap to its last.
#define EXTENT_Y ((MASK_HEIGHT - 1) * DILATION_Y + 1)
#define EXTENT_X ((MASK_WIDTH - 1) * DILATION_X + 1)
// A map's filter: a mask for each channel.
#define FILTER_SIZE (CHANNELS * MASK_SIZE)

#define REPLICATES (BOUNDARY == 1)
#define INTERIOR (BOUNDARY == 2)

__device__ __forceinline__ int clamped(int index, int size)
{
    return index < 0 ? 0 : index < size ? index : size - 1;
}

// One element of an image's channel, or what a ghost cell is.
__device__ __forceinline__ float pixel(const GLOBAL float* channel, int i, int j)
{
#if REPLICATES
    return channel[clamped(i, HEIGHT) * WIDTH + clamped(j, WIDTH)];
#else
    return i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH ? channel[i * WIDTH + j] : 0.0f;
#endif
}

// The convolution at a position, bias included, whose mask begins at (top, left).
__device__ __forceinline__ float kept(float z, int top, int left)
{
#if INTERIOR
    int inside = top >= 0 && top + EXTENT_Y <= HEIGHT && left >= 0 && left + EXTENT_X <= WIDTH;
    return inside ? z : 0.0f;
#else
    return z;
#endif
}

// One result from a window of activated positions in shared memory, in rows `pitch` apart.
__device__ __forceinline__ float pooled_window(const SHARED float* window, int pitch)
{
    float pooled = POOL_START;
    for (int a = 0; a < POOL_HEIGHT; a++)
        for (int b = 0; b < POOL_WIDTH; b++)
            pooled = POOL_WITH(pooled, window[a * pitch + b]);
    return POOL_END(pooled);
}

// Where several kernels make a result, they keep the convolution's sums, without bias, in planes of
// READ_ROWS x READ_COLUMNS: the sums that the pool reads. Where its windows leave gaps, the sums
// are stored without them: WINDOW_STRIDE leads from window to window in a plane, and READ_ROW and
// READ_COLUMN from a plane's index to the convolution's own.
#if POOL_STRIDE_Y > POOL_HEIGHT
#define READ_ROWS (ROWS * POOL_HEIGHT)
#define WINDOW_STRIDE_Y POOL_HEIGHT
#define READ_ROW(i) ((i) / POOL_HEIGHT * POOL_STRIDE_Y + (i) % POOL_HEIGHT)
#else
#define READ_ROWS CONV_ROWS
#define WINDOW_STRIDE_Y POOL_STRIDE_Y
#define READ_ROW(i) (i)
#endif
#if POOL_STRIDE_X > POOL_WIDTH
#define READ_COLUMNS (COLUMNS * POOL_WIDTH)
#define WINDOW_STRIDE_X POOL_WIDTH
#define READ_COLUMN(j) ((j) / POOL_WIDTH * POOL_STRIDE_X + (j) % POOL_WIDTH)
#else
#define READ_COLUMNS CONV_COLUMNS
#define WINDOW_STRIDE_X POOL_STRIDE_X
#define READ_COLUMN(j) (j)
#endif
#define PLANE_SIZE (READ_ROWS * READ_COLUMNS)

// Bias, activation and pool of one result from a plane of sums.
__device__ __forceinline__ float finished(const GLOBAL float* plane, float shift, int row,
                                          int column)
{
    const GLOBAL float* window =
        plane + row * WINDOW_STRIDE_Y * READ_COLUMNS + column * WINDOW_STRIDE_X;
    float pooled = POOL_START;
    for (int a = 0; a < POOL_HEIGHT; a++)
        for (int b = 0; b < POOL_WIDTH; b++) {
            int top = (row * POOL_STRIDE_Y + a) * STRIDE_Y - PAD_Y;
            int left = (column * POOL_STRIDE_X + b) * STRIDE_X - PAD_X;
            float z = kept(window[a * READ_COLUMNS + b] + shift, top, left);
            pooled = POOL_WITH(pooled, activate(z));
        }
    return POOL_END(pooled);
}

// One sum from its definition, with filter[CHANNELS][MASK_HEIGHT][MASK_WIDTH] at (top, left).
__device__ __forceinline__ float direct_sum(const GLOBAL float* image, const GLOBAL float* filter,
                                            int top, int left)
{
    float sum = 0.0f;
    for (int c = 0; c < CHANNELS; c++)
        for (int p = 0; p < MASK_HEIGHT; p++)
            for (int q = 0; q < MASK_WIDTH; q++)
                sum += filter[(c * MASK_HEIGHT + p) * MASK_WIDTH + q] *
                       pixel(image + c * HEIGHT * WIDTH, top + p, left + q);
    return sum;
}

// `pixel` for transforms (stride 1, no gaps).  Inputs that no output meets are zeros here:
// otherwise they would leave their rounding errors in a tile.
__device__ __forceinline__ float met_pixel(const GLOBAL float* channel, int i, int j)
{
    return i < CONV_ROWS + MASK_HEIGHT - 1 - PAD_Y && j < CONV_COLUMNS + MASK_WIDTH - 1 - PAD_X
               ? pixel(channel, i, j)
               : 0.0f;
}
