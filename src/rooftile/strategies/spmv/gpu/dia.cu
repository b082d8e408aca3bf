// Rung 10, dia: a thread a row; a diagonal's elements lie side by side, and need no index.
//
// x is read as it lies, too.  Values and x of AT_ONCE diagonals are loaded before the first is
// multiplied, so that many loads are under way.  What it costs: every diagonal is stored whole.
//
// values[diagonals][rows], diagonals[diagonals], x[columns], y[rows].
// Grid: x over blocks of rows.
// Block: x over BLOCK rows.

#include "spmv.h"

#define AT_ONCE 4

__global__ void dia(const GLOBAL given* __restrict__ values,
                    const GLOBAL INDEX* __restrict__ diagonals,
                    const GLOBAL carried* __restrict__ x UPDATE_ARGUMENTS,
                    GLOBAL carried* __restrict__ y, int64 rows, int64 columns, int count)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    carried total = 0;
    for (int first = 0; first < count; first += AT_ONCE) {
        carried value[AT_ONCE], factor[AT_ONCE];
        UNROLL
        for (int k = 0; k < AT_ONCE; k++) {
            // Behind the last diagonal it is looked at again, and counts as 0.
            int d = first + k < count ? first + k : count - 1;
            int64 column = row + diagonals[d];
            bool inside = first + k < count && column >= 0 && column < columns;
            carried own = taken(values[d * rows + row]);
            value[k] = inside ? own : 0;
            factor[k] = x[inside ? column : 0];
        }
        UNROLL
        for (int k = 0; k < AT_ONCE; k++) total += value[k] != 0 ? value[k] * factor[k] : 0;
    }
    y[row] = FINISHED(row, total);
}
