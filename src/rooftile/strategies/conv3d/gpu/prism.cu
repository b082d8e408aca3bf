// prism: a thread for each element of the block's input tile, which is long along the rows.
//
// What it removes: idle threads of the halo, of which a cube has more, and reads of parts of sectors:
// neighbours of a row are neighbours in memory.
//
// x[images][CHANNELS][DEPTH][HEIGHT][WIDTH],
// taps[MAPS][CHANNELS][MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH],
// out[images][MAPS][PLANES][ROWS][COLUMNS].
// Grid and block: see input_tile.h.

#define FAMILY prism
#include "common/input_tile.h"
