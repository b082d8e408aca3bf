// ell: a thread a row of padded rows that lie column by column.
//
// Neighbours read neighbours, and no thread of a warp waits for another.  What it costs: padding, as
// much as the longest row asks for.
//
// values[width][rows], column_index[width][rows], x[columns], y[rows].
// Grid: x over blocks of rows.
// Block: x over BLOCK rows.

#include "ell.h"

__global__ void ell(const GLOBAL given* __restrict__ values,
                    const GLOBAL INDEX* __restrict__ column_index,
                    const GLOBAL carried* __restrict__ x UPDATE_ARGUMENTS,
                    GLOBAL carried* __restrict__ y, int64 rows, int width)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row < rows) y[row] = FINISHED(row, padded_row(values, column_index, x, row, rows, width));
}
