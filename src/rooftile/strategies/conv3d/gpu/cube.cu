// cube: a thread for each element of the block's input tile, as long along each axis.
//
// Neighbouring sums share most of their inputs, which naive and constant read again and again through
// the cache; here a block reads its tile once.  What it removes: repeated reads of global memory,
// and all but one test for ghost cells an input.  What it costs: idle threads of the halo, on all
// six sides: most of a cube's.
//
// x[images][CHANNELS][DEPTH][HEIGHT][WIDTH],
// taps[MAPS][CHANNELS][MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH],
// out[images][MAPS][PLANES][ROWS][COLUMNS].
// Grid and block: see input_tile.h.

#define FAMILY cube
#include "common/input_tile.h"
