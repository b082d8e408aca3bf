// What surrounds kernels that add to y by atomics: y is cleared before, and updated behind them.
//
// y[rows].  Grid: x over blocks of rows.  Block: x over BLOCK threads.

#pragma once
#include "spmv.h"

__global__ void clear(GLOBAL carried* y, int64 rows)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row < rows) y[row] = 0;
}

#if UPDATED
__global__ void finish(GLOBAL carried* y UPDATE_ARGUMENTS, int64 rows)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row < rows) y[row] = FINISHED(row, y[row]);
}
#endif
