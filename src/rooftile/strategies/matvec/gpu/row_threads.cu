// row_threads: a thread a row.
//
// The textbook's first kernel. Neighbours read elements of a that are a row apart, and all read one
// element of x. Where a is stored transposed the same threads read neighbours in memory.
//
// a, x, y: see matvec.h.  Grid: x over rows.

#define FAMILY row_threads
#include "matvec/gpu/matvec.h"

__global__ void row_threads(const GLOBAL float* __restrict__ a, const GLOBAL float* __restrict__ x,
                            GLOBAL float* __restrict__ y, int rows, int columns)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= rows) return;

    float sum = 0.0f;
    for (int j = 0; j < columns; j++) sum += a[place_in_a(i, j, rows, columns)] * x[j];
    y[i] = sum;
}
