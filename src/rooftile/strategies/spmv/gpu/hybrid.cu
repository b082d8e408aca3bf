// hybrid: ELL for as many entries of each row as many rows have, and COO for what is left.
//
// What it removes: padding to the longest row.  What it costs: a second sum over the rows, of the
// tail's segments, which is added to the first.
//
// values[width][rows], column_index[width][rows], tail_values[tail], tail_rows[tail],
// tail_columns[tail], x[columns], y[rows].
// Grid: x over blocks of rows, over TEAMS tiles, or over spans of SPAN tiles.
// Block: x over SPAN threads, or x over the threads of a tile and y over TEAMS tiles.

#define FAMILY hybrid
#include "ell.h"
#include "merged.h"
#include "row_starts.h"

__global__ void hybrid(const GLOBAL given* __restrict__ values,
                       const GLOBAL INDEX* __restrict__ column_index,
                       const GLOBAL carried* __restrict__ x, GLOBAL carried* __restrict__ y,
                       int64 rows, int width)
{
    int64 row = (int64)blockIdx.x * SPAN + threadIdx.x;
    if (row < rows) y[row] = padded_row(values, column_index, x, row, rows, width);
}
