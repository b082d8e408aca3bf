// Gradients of a convolution's outputs, of all of them or, where PLACED, of one in each window of a
// max-pool: then `where` says which, see winner_place.h.
//
// dy[images][MAPS][ROWS][COLUMNS], where[images][MAPS][ROWS][COLUMNS].

#pragma once

#define GRADIENTS (ROWS * COLUMNS)
#define TAPS (MASK_HEIGHT * MASK_WIDTH)

#if PLACED
#include "common/winner_place.h"
#define WHERE_ARGUMENT const GLOBAL winner_place* where,
#define WHERE_GIVEN where,
#define PLACE(number, e) stands(where[number], e)
#define PLACE_COLUMNS CONV_COLUMNS

// Where the winner of a plane's window e stands in the convolution: row * CONV_COLUMNS + column.
__device__ __forceinline__ int stands(winner_place given, int e)
{
#if WHERE_NARROW
    int row = e / COLUMNS * WINDOW_STRIDE_Y + given / WINDOW_WIDTH;
    return row * CONV_COLUMNS + e % COLUMNS * WINDOW_STRIDE_X + given % WINDOW_WIDTH;
#else
    return given;
#endif
}
#else
#define WHERE_ARGUMENT
#define WHERE_GIVEN
#define PLACE(number, e) (e)
#define PLACE_COLUMNS COLUMNS
#endif
