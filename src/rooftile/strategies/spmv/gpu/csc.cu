// csc: a thread a column, whose entries are added to their rows by atomics.
//
// x is read once.  What it costs: neighbours read entries that lie apart, and an atomic an entry, in
// any order, so that rounding differs from run to run.
//
// values[entries], row_index[entries], column_offsets[columns + 1], x[columns], y[rows].
// Grid: x over blocks of columns, or of rows.
// Block: x over BLOCK threads.

#define FAMILY csc
#include "scatter.h"

__global__ void csc(const GLOBAL given* __restrict__ values,
                    const GLOBAL INDEX* __restrict__ row_index,
                    const GLOBAL INDEX* __restrict__ column_offsets,
                    const GLOBAL carried* __restrict__ x, GLOBAL carried* y, int64 columns)
{
    int64 column = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (column >= columns) return;
    carried factor = x[column];
    INDEX last = column_offsets[column + 1];
    for (INDEX e = column_offsets[column]; e < last; e++)
        add_to(y + row_index[e], taken(values[e]) * factor);
}
