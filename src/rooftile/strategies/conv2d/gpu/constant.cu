// constant: weights in constant memory.
//
// All threads of a warp need the same weight at the same time; constant memory has a
// cache of its own that hands one word to all of them, as an operand of the
// multiply-add.  It holds 65,536 bytes, so larger weights go by slices of SLICE_MAPS whole
// maps, each a launch of its own.  What it removes: half of the loads.
//
// x[images][CHANNELS][HEIGHT][WIDTH], taps[SLICE_MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS]; `first` is the slice's first map.
// Grid: x and y over the result's tiles of BLOCK_X x BLOCK_Y, z over images x SLICE_MAPS.

#include "conv2d/gpu/conv2d.h"

CONSTANT_ARRAY(float, taps, SLICE_MAPS * FILTER_SIZE)

__global__ void LAUNCH_BOUNDS(BLOCK_X * BLOCK_Y)
constant_memory(
    const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ bias,
    GLOBAL float* __restrict__ out, int images, int first CONSTANT_ARGUMENT(float, taps))
{
    int column = blockIdx.x * BLOCK_X + threadIdx.x;
    int row = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (row >= ROWS || column >= COLUMNS) return;

    for (int64 unit = blockIdx.z; unit < (int64)images * SLICE_MAPS; unit += gridDim.z) {
        int64 n = unit / SLICE_MAPS;
        int slot = unit % SLICE_MAPS, m = first + slot;
        if (m >= MAPS) continue;
        float pooled = POOL_START;
        for (int a = 0; a < POOL_HEIGHT; a++)
            for (int b = 0; b < POOL_WIDTH; b++) {
                int top = (row * POOL_STRIDE_Y + a) * STRIDE_Y - PAD_Y;
                int left = (column * POOL_STRIDE_X + b) * STRIDE_X - PAD_X;
                float z = bias[m];
                for (int c = 0; c < CHANNELS; c++) {
                    const GLOBAL float* channel = x + n * IMAGE_SIZE + c * HEIGHT * WIDTH;
                    int mask = (slot * CHANNELS + c) * MASK_SIZE;
                    UNROLL for (int p = 0; p < MASK_HEIGHT; p++)
                        UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                            z += taps[mask + p * MASK_WIDTH + q] *
                                 pixel(channel, top + p, left + q);
                }
                pooled = POOL_WITH(pooled, activate(kept(z, top, left)));
            }
        out[((n * MAPS + m) * ROWS + row) * COLUMNS + column] = POOL_END(pooled);
    }
}
