// tiled and padded: a block turns a tile around in shared memory.
//
// A tile's rows are read by neighbouring threads, and so are written its columns, which are rows
// of the result.  What it removes: accesses to device memory that lie apart.  In shared memory a
// column's elements lie a row apart: with rows of 32 words (`tiled`, PADDING is 0) all of them in
// one bank, so that a warp's read takes 32 passes; with one element more (`padded`) each in
// another.
//
// x[batch][rows][columns], y[batch][columns][rows].
// Grid: x over tiles of a matrix, y over the batch.
// Block: x over TILE columns, y over DOWN rows of a tile.

#if PADDING
#define FAMILY padded
#else
#define FAMILY tiled
#endif
#include "common/elements.h"

__global__ void FAMILY(const GLOBAL element* __restrict__ x, GLOBAL element* __restrict__ y,
                       int64 batch, int64 rows, int64 columns)
{
    __shared__ element tile[TILE][TILE + PADDING];
    int64 tiles = (columns + TILE - 1) / TILE;
    int64 top = blockIdx.x / tiles * TILE, left = blockIdx.x % tiles * TILE;
    int across = threadIdx.x;
    // The part of the tile that is inside.
    int high = rows - top < TILE ? rows - top : TILE;
    int wide = columns - left < TILE ? columns - left : TILE;
    for (int64 b = blockIdx.y; b < batch; b += gridDim.y) {
        const GLOBAL element* from = x + (b * rows + top) * columns + left + across;
        GLOBAL element* to = y + (b * columns + left) * rows + top + across;
        for (int down = threadIdx.y; down < TILE; down += DOWN)
            if (down < high && across < wide) tile[down][across] = from[down * columns];
        __syncthreads();
        for (int down = threadIdx.y; down < TILE; down += DOWN)
            if (down < wide && across < high) to[down * rows] = tile[across][down];
        // The next matrix's tile overwrites what this one's threads read.
        __syncthreads();
    }
}
