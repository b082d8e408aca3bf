// Rung 10, dia: a thread a row; a diagonal's elements lie side by side, and need no index.
//
// x is read as it lies, too.  What it costs: every diagonal is stored whole.
//
// values[diagonals][rows], diagonals[diagonals], x[columns], y[rows].
// Grid: x over blocks of rows.
// Block: x over BLOCK rows.

#include "spmv.h"

__global__ void dia(const GLOBAL given* __restrict__ values,
                    const GLOBAL INDEX* __restrict__ diagonals,
                    const GLOBAL carried* __restrict__ x UPDATE_ARGUMENTS,
                    GLOBAL carried* __restrict__ y, int64 rows, int64 columns, int count)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    carried total = 0;
    for (int d = 0; d < count; d++) {
        int64 column = row + diagonals[d];
        if (column >= 0 && column < columns) total += product(values[d * rows + row], x, column);
    }
    y[row] = FINISHED(row, total);
}
