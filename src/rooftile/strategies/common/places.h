// Gradients of a convolution's outputs, of all of them or, where PLACED, of one in each window of a
// max-pool: then `where` says which, row * CONV_COLUMNS + column.
//
// dy[images][MAPS][ROWS][COLUMNS], where[images][MAPS][ROWS][COLUMNS].

#pragma once

#define GRADIENTS (ROWS * COLUMNS)
#define TAPS (MASK_HEIGHT * MASK_WIDTH)

#if PLACED
#define WHERE_ARGUMENT const GLOBAL int* where,
#define WHERE_GIVEN where,
#define PLACE(number, e) where[number]
#define PLACE_COLUMNS CONV_COLUMNS
#else
#define WHERE_ARGUMENT
#define WHERE_GIVEN
#define PLACE(number, e) (e)
#define PLACE_COLUMNS COLUMNS
#endif
