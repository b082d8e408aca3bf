// cells: one thread writes the gradients of one window and of the elements up to the next.
//
// In `naive`, every element of a window finds the argmax again. Windows that do not overlap cut the
// image into cells of STRIDE_Y x STRIDE_X elements, each with one window at most; a thread finds
// the argmax and writes the cell. What it removes: all reads of x but one of each element.
//
// x[planes][HEIGHT][WIDTH], dy[planes][ROWS][COLUMNS], dx[planes][HEIGHT][WIDTH].
// Grid: x over the cells.

#include "common/winner.h"

#define DOWN ((HEIGHT + STRIDE_Y - 1) / STRIDE_Y)
#define ACROSS ((WIDTH + STRIDE_X - 1) / STRIDE_X)

__global__ void cells(const GLOBAL float* __restrict__ x,
                      const GLOBAL float* __restrict__ dy, GLOBAL float* __restrict__ dx,
                      int planes)
{
    int64 cell = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (cell >= (int64)planes * DOWN * ACROSS) return;

    int r = (int)(cell / ACROSS % DOWN), c = (int)(cell % ACROSS);
    int64 number = cell / (DOWN * ACROSS);
    const GLOBAL float* plane = x + (size_t)number * HEIGHT * WIDTH;
    GLOBAL float* made = dx + (size_t)number * HEIGHT * WIDTH;
    int top = r * STRIDE_Y, left = c * STRIDE_X, place = -1;
    float gradient = 0.0f;
    if (r < ROWS && c < COLUMNS) {
        gradient = dy[(number * ROWS + r) * COLUMNS + c];
        if (AVERAGE)
            gradient /= (float)(WINDOW_HEIGHT * WINDOW_WIDTH);
        else
            place = winner(plane, top * WIDTH + left);
    }
    int in_window = r < ROWS && c < COLUMNS;
    for (int a = 0; a < STRIDE_Y && top + a < HEIGHT; a++)
        for (int b = 0; b < STRIDE_X && left + b < WIDTH; b++) {
            int at = (top + a) * WIDTH + left + b;
            int gets = AVERAGE ? in_window && a < WINDOW_HEIGHT && b < WINDOW_WIDTH : at == place;
            made[at] = gets ? gradient : 0.0f;
        }
}
