// How `where` says which element of a max-pool's window won: by its place in the convolution, row *
// CONV_COLUMNS + column, in 32 bits; or, with WHERE_NARROW, by its position in the window, row *
// the window's columns + column, in 8 bits, a quarter of what has to be written and read.

#pragma once

#if WHERE_NARROW
typedef unsigned char winner_place;
#else
typedef int winner_place;
#endif
