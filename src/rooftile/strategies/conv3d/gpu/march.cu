// march: blocks march through the planes, with open sums in registers.
//
// What it removes: the halo above and below each tile, which coarsened reads twice or more, all but one
// read of shared memory for as many multiply-adds as a mask has planes, rows of a thread and
// neighbours, and the wait for loads, which run planes ahead.  What it costs: registers for
// MASK_DEPTH open sums a place.
//
// x[images][CHANNELS][DEPTH][HEIGHT][WIDTH],
// taps[MAPS][CHANNELS][MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH],
// out[images][MAPS][PLANES][ROWS][COLUMNS].
// Grid and block: see march.h.

#define FAMILY march
#include "common/march.h"
