// naive: a thread a sum, straight from the definition.
//
// Every tap reads an input and a weight from global memory; neighbours in a block find most of
// their inputs in the cache.
//
// x[images][CHANNELS][DEPTH][HEIGHT][WIDTH],
// weights[MAPS][CHANNELS][MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH],
// out[images][MAPS][PLANES][ROWS][COLUMNS].
// Grid: x over tiles of TILE_Z x TILE_Y x TILE_X sums, see volumes.h.
// Block: TILE_X x TILE_Y x TILE_Z threads, each one sum.

#include "common/volumes.h"

__global__ void LAUNCH_BOUNDS(TILE_X * TILE_Y * TILE_Z)
naive(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
      GLOBAL float* __restrict__ out, int last)
{
    int plane = TILE_PLANE + threadIdx.z;
    int row = TILE_ROW + threadIdx.y;
    int column = TILE_COLUMN + threadIdx.x;

    float sum = 0.0f;
    for (int c = 0; c < CHANNELS; c++)
        for (int d = 0; d < MASK_DEPTH; d++)
            for (int p = 0; p < MASK_HEIGHT; p++)
                for (int q = 0; q < MASK_WIDTH; q++)
                    sum += weights[TAP(TILE_MAP, c, d, p, q)] *
                           element(channel_of(x, c), plane - BEFORE_Z + d, row - BEFORE_Y + p,
                                   column - BEFORE_X + q);
    put(out, plane, row, column, sum, last);
}
