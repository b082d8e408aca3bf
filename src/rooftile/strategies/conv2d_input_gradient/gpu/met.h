// Which gradients a pixel met, in texts that gather them.

#pragma once

#include "common/places.h"

// The first output whose mask reaches as far as a padded row or column, from 0 on, and the first
// window that reaches as far as an output.
#define FIRST(at, size, stride) ((at) < (size) ? 0 : ((at) - (size)) / (stride) + 1)

#define FIRST_ROW(i) FIRST(FIRST(i, MASK_HEIGHT, STRIDE_Y), WINDOW_HEIGHT, WINDOW_STRIDE_Y)
#define FIRST_COLUMN(j) FIRST(FIRST(j, MASK_WIDTH, STRIDE_X), WINDOW_WIDTH, WINDOW_STRIDE_X)
// True if a window's first row or column of outputs begins at or before the last that the pixel
// meets.
#define ROW_MET(r, i) ((r) < ROWS && (r) * WINDOW_STRIDE_Y * STRIDE_Y <= (i))
#define COLUMN_MET(c, j) ((c) < COLUMNS && (c) * WINDOW_STRIDE_X * STRIDE_X <= (j))
