// naive: a thread an element.
//
// Neighbouring threads write neighbours and read wherever the index sends them.  Every row's
// threads read the index anew.
//
// x[rows][columns], index[width], y[rows][width].
// Grid: x over blocks of columns, y over blocks of rows.
// Block: x over ACROSS columns, y over DOWN rows.

#include "column.h"

__global__ void naive(const GLOBAL element* x, const GLOBAL int* index, GLOBAL element* y,
                      int64 rows, int columns, int width)
{
    int j = blockIdx.x * ACROSS + threadIdx.x;
    if (j >= width) return;
    for (int64 i = (int64)blockIdx.y * DOWN + threadIdx.y; i < rows; i += (int64)gridDim.y * DOWN)
        y[i * width + j] = x[i * columns + column_of(index[j], columns)];
}
