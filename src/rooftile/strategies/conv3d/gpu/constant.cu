// constant: weights in constant memory.
//
// All threads of a warp need the same weight at the same time; constant memory has a cache of its
// own that hands one word to all of them, as an operand of the multiply-add.  What it removes: half
// of the loads.
//
// x[images][CHANNELS][DEPTH][HEIGHT][WIDTH],
// taps[MAPS][CHANNELS][MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH],
// out[images][MAPS][PLANES][ROWS][COLUMNS].
// Grid: x over tiles of TILE_Z x TILE_Y x TILE_X sums, see volumes.h.
// Block: TILE_X x TILE_Y x TILE_Z threads, each one sum.

#include "common/volumes.h"

CONSTANT_ARRAY(float, taps, TAPS)

__global__ void LAUNCH_BOUNDS(TILE_X * TILE_Y * TILE_Z)
constant_memory(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out,
                int last CONSTANT_ARGUMENT(float, taps))
{
    int plane = TILE_PLANE + threadIdx.z;
    int row = TILE_ROW + threadIdx.y;
    int column = TILE_COLUMN + threadIdx.x;

    float sum = 0.0f;
    for (int c = 0; c < CHANNELS; c++)
        for (int d = 0; d < MASK_DEPTH; d++)
            UNROLL for (int p = 0; p < MASK_HEIGHT; p++)
                UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                    sum += taps[TAP(TILE_MAP, c, d, p, q)] *
                           element(channel_of(x, c), plane - BEFORE_Z + d, row - BEFORE_Y + p,
                                   column - BEFORE_X + q);
    put(out, plane, row, column, sum, last);
}
