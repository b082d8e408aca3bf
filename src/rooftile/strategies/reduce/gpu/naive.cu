// naive: a thread a result, its elements one after the other.
//
// The order is kept, so that the operator need not be associative.
//
// x[slabs][columns][inner], results[rows].
// Grid: x over blocks of rows.
// Block: x over BLOCK rows.

#include "common/in_turn.h"
#include "reduce.h"

__global__ void naive(const GLOBAL given* x, GLOBAL result* results, int rows, int64 columns,
                      int64 inner)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    carried total = in_turn(x + FIRST(row), 0, columns, 1, APART);
    results[row] = stored(total);
}
