// tile: a thread for each element of the block's input tile in shared memory.
//
// What it removes: repeated reads of global memory, and all but one test for ghost cells an input;
// coefficients come from constant memory.  What it costs: idle threads of the halo.
//
// x[DEPTH][HEIGHT][WIDTH], taps[MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH], out[PLANES][ROWS][COLUMNS].
// Grid and block: see input_tile.h.

#define FAMILY tile
#include "common/input_tile.h"
