// jds_t: jagged diagonals transposed: the k-th entries of all rows lie side by side.
//
// What it removes: padding, and reads that lie apart.  The last offset is the sentinel: it is where
// the last section ends.
//
// values[entries], column_index[entries], section_offsets[sections + 1], permutation[rows],
// x[columns], y[rows].
// Grid: x over blocks of rows.
// Block: x over BLOCK rows.

#include "spmv.h"

__global__ void jds_t(const GLOBAL given* __restrict__ values,
                      const GLOBAL INDEX* __restrict__ column_index,
                      const GLOBAL INDEX* __restrict__ section_offsets,
                      const GLOBAL INDEX* __restrict__ permutation,
                      const GLOBAL carried* __restrict__ x UPDATE_ARGUMENTS,
                      GLOBAL carried* __restrict__ y, int64 rows, int sections)
{
    int64 rank = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (rank >= rows) return;
    carried total = 0;
    int64 begin = section_offsets[0];
    for (int s = 0; s < sections; s++) {
        int64 end = section_offsets[s + 1], e = begin + rank;
        if (e >= end) break;
        total += taken(values[e]) * x[column_index[e]];
        begin = end;
    }
    int64 row = permutation[rank];
    y[row] = FINISHED(row, total);
}
