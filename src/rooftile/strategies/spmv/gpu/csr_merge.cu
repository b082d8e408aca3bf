// csr_merge: every block and every thread takes as many entries and ends of rows.
//
// What it removes: in `csr_teams` work follows the rows, so that short ones leave threads idle and
// long ones keep others waiting.  What it costs: products go through shared memory, and the tiles'
// first rows through a small kernel.
//
// values[entries], column_index[entries], row_offsets[rows + 1], x[columns], y[rows], and perhaps
// tile_rows[tiles + 1].
// Grid: x over TEAMS tiles, or over spans of SPAN tiles.
// Block: x over the threads of a tile and y over TEAMS tiles, or x over SPAN threads.

#define FAMILY csr_merge
#include "merged.h"
