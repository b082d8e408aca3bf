// naive: a thread a cell, straight from the definition.
//
// EACH_POINT(use) is use(k, d, p, q) for every coefficient k and its plane, row and column of the
// box.  Every point reads a cell and a coefficient from global memory.
//
// x[DEPTH][HEIGHT][WIDTH], coefficients[points], out[PLANES][ROWS][COLUMNS].
// Grid: x over tiles of TILE_Z x TILE_Y x TILE_X cells, see volumes.h.
// Block: TILE_X x TILE_Y x TILE_Z threads, each one cell.

#include "common/volumes.h"

__global__ void LAUNCH_BOUNDS(TILE_X * TILE_Y * TILE_Z)
naive(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ coefficients,
      GLOBAL float* __restrict__ out, int last)
{
    int plane = TILE_PLANE + threadIdx.z;
    int row = TILE_ROW + threadIdx.y;
    int column = TILE_COLUMN + threadIdx.x;

    float sum = 0.0f;
#define ADD(k, d, p, q)                                                                     \
    sum += coefficients[k] *                                                                \
           element(x, plane - BEFORE_Z + d, row - BEFORE_Y + p, column - BEFORE_X + q);
    EACH_POINT(ADD)
    put(out, plane, row, column, sum, last);
}
