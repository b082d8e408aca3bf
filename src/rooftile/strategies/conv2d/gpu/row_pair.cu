// row_pair: two rows of the result a group, from the same rows in shared memory.
//
// As row_local, but two neighbouring rows of the result share what the group has read: with a 5x5
// mask and a 2x2 maximum eight rows of the image serve two results, where each alone reads six. A
// thread keeps four rows of sums. What it removes: a third of the copies to shared memory, half of
// the barriers and of the reads of weights; what it costs: twice the registers.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[CHANNELS][MASK_HEIGHT][MASK_WIDTH][MAPS],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x groups that share out the rows of the result (the tunable GROUPS), y spans of SPAN columns
// of the convolution, z images.  Block: ITEMS threads that share out the maps.

#define FAMILY row_pair
#include "conv2d/gpu/local_rows.h"
