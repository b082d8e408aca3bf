// Rung 1, naive: a thread a result, its elements one after the other.
//
// The order is kept, so that the operator need not be associative.  Of a sum of floating-point
// numbers (LOSES) what rounding loses is carried along (Kahan): without that, the error of many
// equal numbers would grow as their count.
//
// x[slabs][columns][inner], results[rows].
// Grid: x over blocks of rows.
// Block: x over BLOCK rows.

#include "reduce.h"

__global__ void naive(const GLOBAL given* x, GLOBAL result* results, int rows, int64 columns,
                      int64 inner)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    const GLOBAL given* elements = x + FIRST(row);
    carried total = IDENTITY;
#if LOSES
    carried lost = 0;
    for (int64 j = 0; j < columns; j++) {
        carried corrected = taken(elements[j * APART]) - lost, more = total + corrected;
        lost = (more - total) - corrected;
        // Beyond an infinity there is nothing to carry along.
        if (lost != lost) lost = 0;
        total = more;
    }
#else
    for (int64 j = 0; j < columns; j++) total = combined(total, taken(elements[j * APART]));
#endif
    results[row] = stored(total);
}
