// coarsened: a column of cells a thread, over a tile in shared memory.
//
// What it removes: of a box's reads of shared memory two in three, of a star's those along the
// column; and idle threads.  What it costs: registers, and deep tiles.
//
// x[DEPTH][HEIGHT][WIDTH], taps[MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH], out[PLANES][ROWS][COLUMNS].
// Grid and block: see coarsened_tile.h.

#define FAMILY coarsened
#include "common/coarsened_tile.h"
