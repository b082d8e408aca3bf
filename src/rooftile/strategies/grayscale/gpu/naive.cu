// naive: a thread a pixel, in two-dimensional blocks.
//
// x is the column, y the row; the threads beyond the picture's edges have nothing to do.
//
// image[height][width][3], gray[height][width].
// Grid: x over blocks of columns, y over blocks of rows.
// Block: x over ACROSS columns, y over DOWN rows.

#include "weigh.h"

__global__ void naive(const GLOBAL unsigned char* image, GLOBAL unsigned char* gray, int64 height,
                      int64 width, int red, int green, int blue)
{
    int64 column = (int64)blockIdx.x * ACROSS + threadIdx.x;
    if (column >= width) return;
    for (int64 row = (int64)blockIdx.y * DOWN + threadIdx.y; row < height;
         row += (int64)gridDim.y * DOWN) {
        int64 i = row * width + column;
        gray[i] = weighed(image[3 * i], image[3 * i + 1], image[3 * i + 2], red, green, blue);
    }
}
