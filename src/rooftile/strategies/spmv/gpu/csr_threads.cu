// csr_threads: a thread a row, its entries one after the other.
//
// Neighbours read entries that lie a row apart, and the longest row of a warp keeps it at work.
//
// values[entries], column_index[entries], row_offsets[rows + 1], x[columns], y[rows].
// Grid: x over blocks of rows.
// Block: x over BLOCK rows.

#include "spmv.h"

__global__ void csr_threads(const GLOBAL given* __restrict__ values,
                            const GLOBAL INDEX* __restrict__ column_index,
                            const GLOBAL INDEX* __restrict__ row_offsets,
                            const GLOBAL carried* __restrict__ x UPDATE_ARGUMENTS,
                            GLOBAL carried* __restrict__ y, int64 rows)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    carried total = 0;
    INDEX last = row_offsets[row + 1];
    for (INDEX e = row_offsets[row]; e < last; e++) total += taken(values[e]) * x[column_index[e]];
    y[row] = FINISHED(row, total);
}
