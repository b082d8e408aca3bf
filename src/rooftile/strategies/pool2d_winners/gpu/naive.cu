// naive: one thread finds the winner of one window, everything from global memory.
//
// x[planes][HEIGHT][WIDTH], y[planes][ROWS][COLUMNS], where[planes][ROWS][COLUMNS].
// Grid: x over the windows.

#include "common/winner.h"

__global__ void naive(const GLOBAL float* x, GLOBAL float* y, GLOBAL int* where,
                      int planes)
{
    int64 window = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (window >= (int64)planes * ROWS * COLUMNS) return;

    int at = (int)(window % (ROWS * COLUMNS));
    const GLOBAL float* plane = x + (size_t)(window / (ROWS * COLUMNS)) * HEIGHT * WIDTH;
    int place = winner(plane, at / COLUMNS * STRIDE_Y * WIDTH + at % COLUMNS * STRIDE_X);
    y[window] = plane[place];
    where[window] = place;
}
