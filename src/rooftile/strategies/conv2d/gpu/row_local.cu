// row_local: the rows in shared memory, read once a block.
//
// The threads of a block make different maps of the same row of the result, so they need the same
// rows of the image. Together they copy a channel's rows to shared memory (OpenCL's local memory),
// between two barriers, and all read there at one address at a time. What it removes: the copy that
// each thread made for itself, which the publication finds to be five times faster; what it costs:
// two barriers for each channel.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[CHANNELS][MASK_HEIGHT][MASK_WIDTH][MAPS],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x groups that share out the rows of the result (the tunable GROUPS), y spans of SPAN columns
// of the convolution, z images.  Block: ITEMS threads that share out the maps.

#define FAMILY row_local
#include "conv2d/gpu/local_rows.h"
