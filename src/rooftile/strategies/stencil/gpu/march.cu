// march: blocks march through the planes, with open sums in registers (2.5D blocking).
//
// What it removes: the halo above and below each tile, which coarsened reads twice or more, and the
// wait for loads, which run planes ahead.  What it costs: registers for as many open sums a place
// as the stencil has planes.  A grid of two axes is one plane, and there is nothing to march through.
//
// x[DEPTH][HEIGHT][WIDTH], taps[MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH], out[PLANES][ROWS][COLUMNS].
// Grid and block: see march.h.

#define FAMILY march
#include "common/march.h"
