// Gradients of a convolution's outputs, of all of them or, where PLACED, of one in each window of a
// max-pool: then `where` says which, see winner_place.h.
//
// dy[images][MAPS][ROWS][COLUMNS], where[images][MAPS][ROWS][COLUMNS].

#pragma once

#define GRADIENTS (ROWS * COLUMNS)
#define TAPS (MASK_HEIGHT * MASK_WIDTH)

// SPOT is where a gradient stands, of which its number and its plane's are given; PLACED_GRADIENT what
// stands there: zero where the window has no winner.
#if PLACED
#include "common/winner_place.h"
#define WHERE_ARGUMENT const GLOBAL winner_place* where,
#define WHERE_GIVEN where,
#define SPOT(number, e) spot_of(where[number], e)
#define PLACED_GRADIENT(number, gradient) OF_WINNER(gradient, where[number])
#else
typedef int winner_place;
#define WHERE_ARGUMENT
#define WHERE_GIVEN
#define SPOT(number, e) spot_of(e, e)
#define PLACED_GRADIENT(number, gradient) (gradient)
#endif

// The place of an output of the convolution.
typedef struct { int row, column; } spot;

// The one whose gradient is a plane's number e.
__device__ __forceinline__ spot spot_of(int given, int e)
{
    spot found;
#if !PLACED
    found.row = e / COLUMNS, found.column = e % COLUMNS;
#elif WHERE_NARROW
    given = given == NO_WINNER ? 0 : given;
    found.row = e / COLUMNS * WINDOW_STRIDE_Y + given / WINDOW_WIDTH;
    found.column = e % COLUMNS * WINDOW_STRIDE_X + given % WINDOW_WIDTH;
#else
    found.row = given / CONV_COLUMNS, found.column = given % CONV_COLUMNS;
#endif
    return found;
}
