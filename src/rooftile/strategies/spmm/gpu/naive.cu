// naive: a thread an element of the result.
//
// Neighbours share a row, whose entries they all read, and read neighbours of b.
//
// values[entries], column_index[entries], row_offsets[rows + 1], b[columns][width], c[rows][width].
// Grid: x over runs of LINES rows, y over runs of ACROSS columns of b.
// Block: x over ACROSS columns, y over LINES rows.

#include "common/operator.h"

__global__ void naive(const GLOBAL given* __restrict__ values,
                      const GLOBAL INDEX* __restrict__ column_index,
                      const GLOBAL INDEX* __restrict__ row_offsets,
                      const GLOBAL carried* __restrict__ b, GLOBAL carried* __restrict__ c,
                      int64 rows, int width)
{
    int64 row = (int64)blockIdx.x * LINES + threadIdx.y;
    int column = blockIdx.y * ACROSS + threadIdx.x;
    if (row >= rows || column >= width) return;
    carried total = 0;
    INDEX last = row_offsets[row + 1];
    for (INDEX e = row_offsets[row]; e < last; e++)
        total += taken(values[e]) * b[(int64)column_index[e] * width + column];
    c[row * width + column] = total;
}
