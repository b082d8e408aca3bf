// coarsened: several sums a thread, above each other.
//
// What it removes: reads of shared memory, of which cube and prism make one for every tap of every
// sum; and idle threads.  What it costs: registers, and tiles so deep that fewer blocks are
// resident.
//
// x[images][CHANNELS][DEPTH][HEIGHT][WIDTH],
// taps[MAPS][CHANNELS][MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH],
// out[images][MAPS][PLANES][ROWS][COLUMNS].
// Grid and block: see coarsened_tile.h.

#define FAMILY coarsened
#include "common/coarsened_tile.h"
