// coo_atomic: a thread an entry, added to its row by an atomic.
//
// Neighbours read neighbours, whatever the rows are, and entries may lie in any order.  What it costs:
// an atomic an entry, in any order, so that rounding differs from run to run.
//
// values[entries], row_index[entries], column_index[entries], x[columns], y[rows].
// Grid: x over blocks of entries, or of rows.
// Block: x over BLOCK threads.

#define FAMILY coo_atomic
#include "scatter.h"

__global__ void coo_atomic(const GLOBAL given* __restrict__ values,
                           const GLOBAL INDEX* __restrict__ row_index,
                           const GLOBAL INDEX* __restrict__ column_index,
                           const GLOBAL carried* __restrict__ x, GLOBAL carried* y, int64 entries)
{
    int64 e = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (e < entries) add_to(y + row_index[e], taken(values[e]) * x[column_index[e]]);
}
