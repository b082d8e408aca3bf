// A thread for each element of the block's input tile.
//
// Loading takes one round without any division.  Threads of the halo idle in the sum, the fewer the
// larger the tile is along every axis.
//
// Block: LOADED_X x LOADED_Y x LOADED_Z threads, each one input, the first TILE_X x TILE_Y x TILE_Z
// of them also one sum.

#include "common/volumes.h"

CONSTANT_ARRAY(float, taps, TAPS)

__global__ void LAUNCH_BOUNDS(LOADED_X * LOADED_Y * LOADED_Z)
FAMILY(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out,
       int last CONSTANT_ARGUMENT(float, taps))
{
    __shared__ float inputs[LOADED_Z][LOADED_Y][LOADED_X];
    int k = threadIdx.z, i = threadIdx.y, j = threadIdx.x;
    int plane = TILE_PLANE + k, row = TILE_ROW + i, column = TILE_COLUMN + j;
    int makes = k < TILE_Z && i < TILE_Y && j < TILE_X;

    float sum = 0.0f;
    for (int c = 0; c < CHANNELS; c++) {
        const GLOBAL float* volume = channel_of(x, c);
        inputs[k][i][j] = element(volume, plane - BEFORE_Z, row - BEFORE_Y, column - BEFORE_X);
        __syncthreads();
        if (makes)
            UNROLL for (int d = 0; d < MASK_DEPTH; d++)
                UNROLL for (int p = 0; p < MASK_HEIGHT; p++)
                    UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                        if (IS_TAP(d, p, q))
                            sum += taps[TAP(TILE_MAP, c, d, p, q)] * inputs[k + d][i + p][j + q];
        __syncthreads();
    }
    if (makes) put(out, plane, row, column, sum, last);
}
