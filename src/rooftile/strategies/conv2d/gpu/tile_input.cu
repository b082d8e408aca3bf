// tile_input: a thread for each element of the block's input tile.
//
// Loading takes one round without any division, but the threads beyond the output tile
// idle in the sum, the more the larger mask and stride are.  What it removes: the loop
// over the loads; what it costs: idle threads.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x and y over the result's tiles of RESULTS_X x RESULTS_Y, z over images x maps.
// Block: LOADED_X x LOADED_Y threads, each one input, the first POSITIONS_X x POSITIONS_Y
// of them also one position of the convolution.

#include "conv2d/gpu/conv2d.h"

__global__ void LAUNCH_BOUNDS(THREADS_X * THREADS_Y)
tile_input(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
           const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    __shared__ float inputs[LOADED_Y][LOADED_X];
    __shared__ float positions[POSITIONS_Y][POSITIONS_X];
    int i = threadIdx.y, j = threadIdx.x;
    int row = blockIdx.y * RESULTS_Y + i, column = blockIdx.x * RESULTS_X + j;
    int top = blockIdx.y * RESULTS_Y * POOL_STRIDE_Y * STRIDE_Y - PAD_Y;
    int left = blockIdx.x * RESULTS_X * POOL_STRIDE_X * STRIDE_X - PAD_X;
    int sums = i < POSITIONS_Y && j < POSITIONS_X;
    int writes = i < RESULTS_Y && j < RESULTS_X && row < ROWS && column < COLUMNS;

    for (int64 unit = blockIdx.z; unit < (int64)images * MAPS; unit += gridDim.z) {
        const GLOBAL float* image = x + unit / MAPS * IMAGE_SIZE;
        int m = unit % MAPS;
        float z = bias[m];
        for (int c = 0; c < CHANNELS; c++) {
            const GLOBAL float* mask = weights + (m * CHANNELS + c) * MASK_SIZE;
            inputs[i][j] = pixel(image + c * HEIGHT * WIDTH, top + i, left + j);
            __syncthreads();
            if (sums)
                UNROLL for (int p = 0; p < MASK_HEIGHT; p++)
                    UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                        z += mask[p * MASK_WIDTH + q] * inputs[i * STRIDE_Y + p][j * STRIDE_X + q];
            __syncthreads();
        }
        if (sums)
            positions[i][j] = activate(kept(z, top + i * STRIDE_Y, left + j * STRIDE_X));
        __syncthreads();
        if (writes) {
            const SHARED float* window = &positions[i * POOL_STRIDE_Y][j * POOL_STRIDE_X];
            out[(unit * ROWS + row) * COLUMNS + column] = pooled_window(window, POSITIONS_X);
        }
    }
}
