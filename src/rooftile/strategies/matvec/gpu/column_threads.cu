// column_threads: a thread a column, sums by atomics.
//
// In `row_threads` neighbours read a row apart. Here they read neighbours of a row, and each keeps
// its element of x in a register; but now every product is added to y in global memory, where all
// threads of a row wait for each other. (Of a transposed a it is the other way round.) What it
// removes: reads that do not follow each other. What it costs: an atomic a product.
//
// a, x, y: see matvec.h.  Grid: x over columns, y over rows, which it strides over.

#define FAMILY column_threads
#include "matvec/gpu/matvec.h"

__global__ void column_threads(
    const GLOBAL float* __restrict__ a, const GLOBAL float* __restrict__ x, GLOBAL float* y,
    int rows, int columns)
{
    int j = blockIdx.x * BLOCK + threadIdx.x;
    if (j >= columns) return;

    float factor = x[j];
    for (int i = blockIdx.y; i < rows; i += gridDim.y)
        atomicAdd(y + i, a[place_in_a(i, j, rows, columns)] * factor);
}
