// Rung 3, csr_merge: every block and every thread takes as many entries and ends of rows.
//
// What it removes: in `csr_teams` work follows the rows, so that short ones leave threads idle and
// long ones keep others waiting.  What it costs: products go through shared memory, and the tiles'
// first rows through a small kernel.
//
// values[entries], column_index[entries], row_offsets[rows + 1], x[columns], y[rows].
// Grid: x over tiles, or over spans of THREADS tiles.
// Block: x over THREADS threads.

#include "merged.h"
