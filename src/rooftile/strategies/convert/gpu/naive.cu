// naive: one thread makes one number.
//
// x[count] of what is given, y[count] of what is made.  Grid: x over the numbers.

#include "bits.h"

__global__ void naive(const GLOBAL given* __restrict__ x, GLOBAL made* __restrict__ y, int64 count)
{
    int64 i = (int64)blockIdx.x * THREADS + threadIdx.x;
    if (i < count) y[i] = MADE(x[i]);
}
