// in_place: two tiles change places, each turned around; x and y may be one array.
//
// A block reads both tiles of a pair across the diagonal before it writes either, and no other
// block touches them.  So nothing is overwritten that somebody still reads, and no second array is
// needed.  What it costs: half of all blocks have nothing to do, the others twice the shared
// memory.
//
// x[batch][size][size], y[batch][size][size].
// Grid: x over pairs of bands of TILE rows and columns, y over the batch.
// Block: x over TILE columns, y over DOWN rows of a tile.

#include "common/elements.h"

__global__ void in_place(const GLOBAL element* x, GLOBAL element* y, int64 batch, int64 size)
{
    __shared__ element upper[TILE][TILE + 1];
    __shared__ element lower[TILE][TILE + 1];
    int64 bands = (size + TILE - 1) / TILE;
    int64 top = blockIdx.x / bands * TILE, left = blockIdx.x % bands * TILE;
    int across = threadIdx.x;
    if (top > left) return;
    // The part of the bands that is inside.
    int rows = size - top < TILE ? size - top : TILE;
    int columns = size - left < TILE ? size - left : TILE;
    for (int64 b = blockIdx.y; b < batch; b += gridDim.y) {
        int64 first = b * size * size, above = first + top * size + left;
        int64 below = first + left * size + top;
        for (int down = threadIdx.y; down < TILE; down += DOWN) {
            if (down < rows && across < columns)
                upper[down][across] = x[above + down * size + across];
            if (down < columns && across < rows)
                lower[down][across] = x[below + down * size + across];
        }
        __syncthreads();
        for (int down = threadIdx.y; down < TILE; down += DOWN) {
            if (down < columns && across < rows)
                y[below + down * size + across] = upper[across][down];
            // On the diagonal both are one tile, which is written once.
            if (top < left && down < rows && across < columns)
                y[above + down * size + across] = lower[across][down];
        }
        __syncthreads();
    }
}
