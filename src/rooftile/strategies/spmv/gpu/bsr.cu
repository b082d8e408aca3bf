// Rung 11, bsr: a thread a row of blocks of SIDE x SIDE values.
//
// One index serves a whole block, and the elements of x that a block needs lie side by side.  What it
// costs: a block is stored whole, however few entries it has.  A block may end beyond the columns: it
// has zeros there, and x has nothing.
//
// values[blocks][SIDE][SIDE], block_columns[blocks], block_offsets[ceil(rows / SIDE) + 1], x[columns],
// y[rows].
// Grid: x over blocks of rows.
// Block: x over BLOCK rows.

#include "spmv.h"

__global__ void bsr(const GLOBAL given* __restrict__ values,
                    const GLOBAL INDEX* __restrict__ block_columns,
                    const GLOBAL INDEX* __restrict__ block_offsets,
                    const GLOBAL carried* __restrict__ x UPDATE_ARGUMENTS,
                    GLOBAL carried* __restrict__ y, int64 rows, int64 columns)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    carried total = 0;
    INDEX last = block_offsets[row / SIDE + 1];
    for (INDEX b = block_offsets[row / SIDE]; b < last; b++) {
        int64 column = (int64)block_columns[b] * SIDE;
        const GLOBAL given* line = values + ((int64)b * SIDE + row % SIDE) * SIDE;
        UNROLL_BY(4)
        for (int j = 0; j < SIDE; j++)
            if (column + j < columns) total += product(taken(line[j]), x[column + j]);
    }
    y[row] = FINISHED(row, total);
}
