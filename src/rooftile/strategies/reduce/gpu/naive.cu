// Rung 1, naive: a thread a sum, its elements one after the other.
//
// What rounding loses is carried along (Kahan): without that, the error of many equal numbers would
// grow as their count.
//
// x[rows][columns], sums[rows].
// Grid: x over blocks of rows.
// Block: x over BLOCK rows.

#include "sums.h"

__global__ void naive(const GLOBAL given* x, GLOBAL total* sums, int rows, int64 columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    total sum = 0, lost = 0;
    for (int64 j = 0; j < columns; j++) {
        total corrected = x[row * columns + j] - lost, more = sum + corrected;
        lost = (more - sum) - corrected;
        // Beyond an infinity there is nothing to carry along.
        if (lost != lost) lost = 0;
        sum = more;
    }
    sums[row] = sum;
}
