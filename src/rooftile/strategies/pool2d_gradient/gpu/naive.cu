// naive: one thread sums up what all windows bring to one element.
//
// x[planes][HEIGHT][WIDTH], dy[planes][ROWS][COLUMNS], dx[planes][HEIGHT][WIDTH].
// Grid: x over the elements of dx.

#include "common/winner.h"

// The first window that reaches as far as a row or column, from 0 on.
#define FIRST(at, size, stride) ((at) < (size) ? 0 : ((at) - (size)) / (stride) + 1)

__global__ void naive(const GLOBAL float* x, const GLOBAL float* dy, GLOBAL float* dx,
                      int planes)
{
    int64 element = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (element >= (int64)planes * HEIGHT * WIDTH) return;

    int at = (int)(element % (HEIGHT * WIDTH)), i = at / WIDTH, j = at % WIDTH;
    int64 number = element / (HEIGHT * WIDTH);
    const GLOBAL float* plane = x + (size_t)number * HEIGHT * WIDTH;
    const GLOBAL float* brought = dy + (size_t)number * ROWS * COLUMNS;
    float sum = 0.0f;
    for (int r = FIRST(i, WINDOW_HEIGHT, STRIDE_Y); r < ROWS && r * STRIDE_Y <= i; r++)
        for (int c = FIRST(j, WINDOW_WIDTH, STRIDE_X); c < COLUMNS && c * STRIDE_X <= j; c++) {
            float gradient = brought[r * COLUMNS + c];
            if (AVERAGE)
                sum += gradient / (float)(WINDOW_HEIGHT * WINDOW_WIDTH);
            else if (winner(plane, r * STRIDE_Y * WIDTH + c * STRIDE_X) == at)
                sum += gradient;
        }
    dx[element] = sum;
}
