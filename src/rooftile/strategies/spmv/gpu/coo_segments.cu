// coo_segments: entries in the order of their rows, as segments of the merged sequence.
//
// What it removes: the atomics of `coo_atomic`, and with them results that differ from run to run.
// What it costs: a search for where each row begins.
//
// values[entries], row_index[entries], column_index[entries], x[columns], y[rows].
// Grid: x over blocks of rows, over TEAMS tiles, or over spans of SPAN tiles.
// Block: x over SPAN threads, or x over the threads of a tile and y over TEAMS tiles.

#define FAMILY coo_segments
#include "merged.h"
#include "row_starts.h"
