// tile_output: the block's input tile, halo included, is read once a map.
//
// Neighbouring outputs share most of their inputs, which naive to constant read again and
// again through the cache.  Here the block has a thread for each convolution output of
// its tile; all threads load the larger input tile in several rounds, then sum from
// shared memory.  The pool reads the finished outputs from there too.  What it removes:
// repeated reads of global memory, and all but one test for ghost cells an input.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x and y over the result's tiles of RESULTS_X x RESULTS_Y, z over images x maps.
// Block: POSITIONS_X x POSITIONS_Y threads, each one position of the convolution.

#include "conv2d/gpu/conv2d.h"

#define THREADS (THREADS_X * THREADS_Y)

__global__ void LAUNCH_BOUNDS(THREADS)
tile_output(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
            const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    __shared__ float inputs[LOADED_Y][LOADED_X];
    __shared__ float positions[POSITIONS_Y][POSITIONS_X];
    int i = threadIdx.y, j = threadIdx.x, thread = i * THREADS_X + j;
    int row = blockIdx.y * RESULTS_Y + i, column = blockIdx.x * RESULTS_X + j;
    int top = blockIdx.y * RESULTS_Y * POOL_STRIDE_Y * STRIDE_Y - PAD_Y;
    int left = blockIdx.x * RESULTS_X * POOL_STRIDE_X * STRIDE_X - PAD_X;
    int writes = i < RESULTS_Y && j < RESULTS_X && row < ROWS && column < COLUMNS;

    for (int64 unit = blockIdx.z; unit < (int64)images * MAPS; unit += gridDim.z) {
        const GLOBAL float* image = x + unit / MAPS * IMAGE_SIZE;
        int m = unit % MAPS;
        float z = bias[m];
        for (int c = 0; c < CHANNELS; c++) {
            const GLOBAL float* channel = image + c * HEIGHT * WIDTH;
            const GLOBAL float* mask = weights + (m * CHANNELS + c) * MASK_SIZE;
            for (int e = thread; e < LOADED_Y * LOADED_X; e += THREADS)
                inputs[e / LOADED_X][e % LOADED_X] =
                    pixel(channel, top + e / LOADED_X, left + e % LOADED_X);
            __syncthreads();
            UNROLL for (int p = 0; p < MASK_HEIGHT; p++)
                UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                    z += mask[p * MASK_WIDTH + q] * inputs[i * STRIDE_Y + p][j * STRIDE_X + q];
            __syncthreads();
        }
        positions[i][j] = activate(kept(z, top + i * STRIDE_Y, left + j * STRIDE_X));
        __syncthreads();
        if (writes) {
            const SHARED float* window = &positions[i * POOL_STRIDE_Y][j * POOL_STRIDE_X];
            out[(unit * ROWS + row) * COLUMNS + column] = pooled_window(window, POSITIONS_X);
        }
    }
}
