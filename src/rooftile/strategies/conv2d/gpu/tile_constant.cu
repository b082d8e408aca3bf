// tile_constant: `tile_input` with the weights in constant memory.
//
// Under a tap all threads of a warp need the same weight.  In `tile_input` it comes from global
// memory, through the cache that the tiles come by; constant memory has a cache of its own, whose
// word is an operand of the multiply-add.  What it removes: half of the loads in the sum.  What it
// costs: weights beyond 65,536 bytes go by slices of SLICE_MAPS whole maps, a launch each.
//
// x[images][CHANNELS][HEIGHT][WIDTH], taps[SLICE_MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS]; `first` is the slice's first map.
// Grid: x and y over the result's tiles of RESULTS_X x RESULTS_Y, z over images x SLICE_MAPS.
// Block: LOADED_X x LOADED_Y threads, each one input, the first POSITIONS_X x POSITIONS_Y
// of them also one position of the convolution.

#include "conv2d/gpu/conv2d.h"

CONSTANT_ARRAY(float, taps, SLICE_MAPS * FILTER_SIZE)

__global__ void LAUNCH_BOUNDS(THREADS_X * THREADS_Y)
tile_constant(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ bias,
              GLOBAL float* __restrict__ out, int images, int first CONSTANT_ARGUMENT(float, taps))
{
    __shared__ float inputs[LOADED_Y][LOADED_X];
    __shared__ float positions[POSITIONS_Y][POSITIONS_X];
    int i = threadIdx.y, j = threadIdx.x;
    int row = blockIdx.y * RESULTS_Y + i, column = blockIdx.x * RESULTS_X + j;
    int top = blockIdx.y * RESULTS_Y * POOL_STRIDE_Y * STRIDE_Y - PAD_Y;
    int left = blockIdx.x * RESULTS_X * POOL_STRIDE_X * STRIDE_X - PAD_X;
    int sums = i < POSITIONS_Y && j < POSITIONS_X;
    int writes = i < RESULTS_Y && j < RESULTS_X && row < ROWS && column < COLUMNS;

    for (int64 unit = blockIdx.z; unit < (int64)images * SLICE_MAPS; unit += gridDim.z) {
        int64 n = unit / SLICE_MAPS;
        int slot = unit % SLICE_MAPS, m = first + slot;
        // The whole block goes on: no thread waits for it at a barrier.
        if (m >= MAPS) continue;
        float z = bias[m];
        for (int c = 0; c < CHANNELS; c++) {
            const GLOBAL float* channel = x + n * IMAGE_SIZE + c * HEIGHT * WIDTH;
            int mask = (slot * CHANNELS + c) * MASK_SIZE;
            inputs[i][j] = pixel(channel, top + i, left + j);
            __syncthreads();
            if (sums)
                UNROLL for (int p = 0; p < MASK_HEIGHT; p++)
                    UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                        z += taps[mask + p * MASK_WIDTH + q] *
                             inputs[i * STRIDE_Y + p][j * STRIDE_X + q];
            __syncthreads();
        }
        if (sums)
            positions[i][j] = activate(kept(z, top + i * STRIDE_Y, left + j * STRIDE_X));
        __syncthreads();
        if (writes) {
            const SHARED float* window = &positions[i * POOL_STRIDE_Y][j * POOL_STRIDE_X];
            out[((n * MAPS + m) * ROWS + row) * COLUMNS + column] =
                pooled_window(window, POSITIONS_X);
        }
    }
}
