// naive: a thread an element of the result, each reads some places before its own.
//
// Loads and stores are coalesced, but for the place where a row begins anew; a warp's load begins
// in the midst of a sector, which its neighbour finds in the cache.
//
// x[rows][columns], y[rows][columns].
// Grid: x over blocks of columns, y over rows.
// Block: x over BLOCK columns.

#include "common/elements.h"

__global__ void naive(const GLOBAL element* __restrict__ x, GLOBAL element* __restrict__ y,
                      int64 rows, int64 columns, int64 places)
{
    int64 j = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (j >= columns) return;
    int64 from = j < places ? j + columns - places : j - places;
    for (int64 i = blockIdx.y; i < rows; i += gridDim.y) y[i * columns + j] = x[i * columns + from];
}
