// jds: a thread a row, the rows in the order of their lengths.
//
// The threads of a warp have rows of nearly one length.  Neighbours still read entries that lie a row
// apart, and y is written in another order.
//
// values[entries], column_index[entries], row_offsets[rows + 1], permutation[rows], x[columns], y[rows].
// Grid: x over blocks of rows.
// Block: x over BLOCK rows.

#include "spmv.h"

__global__ void jds(const GLOBAL given* __restrict__ values,
                    const GLOBAL INDEX* __restrict__ column_index,
                    const GLOBAL INDEX* __restrict__ row_offsets,
                    const GLOBAL INDEX* __restrict__ permutation,
                    const GLOBAL carried* __restrict__ x UPDATE_ARGUMENTS,
                    GLOBAL carried* __restrict__ y, int64 rows)
{
    int64 rank = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (rank >= rows) return;
    carried total = 0;
    INDEX last = row_offsets[rank + 1];
    for (INDEX e = row_offsets[rank]; e < last; e++) total += taken(values[e]) * x[column_index[e]];
    int64 row = permutation[rank];
    y[row] = FINISHED(row, total);
}
