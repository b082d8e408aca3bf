// tile_adjacent: two neighbouring inputs, positions and results a thread.
//
// As in `tile_input` the block covers the input tile, with half as many threads.  A weight that is
// read serves two positions.  But the words that a warp loads, reads and stores at a time lie two
// apart: half of the bytes that each moves are for another time.  What it costs: twice the passes
// of every memory.  Were the two a block's width apart, as in `coarsened`, nothing would.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x and y over the result's tiles of RESULTS_X x RESULTS_Y, z over images x maps.
// Block: THREADS_X x THREADS_Y threads, each two inputs, and as far as they reach two positions.

#include "conv2d/gpu/conv2d.h"

#define EACH 2

__global__ void LAUNCH_BOUNDS(THREADS_X * THREADS_Y)
tile_adjacent(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
              const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    __shared__ float inputs[LOADED_Y][LOADED_X];
    __shared__ float positions[POSITIONS_Y][POSITIONS_X];
    int i = threadIdx.y, first = EACH * threadIdx.x;
    int row = blockIdx.y * RESULTS_Y + i, first_column = blockIdx.x * RESULTS_X;
    int top = blockIdx.y * RESULTS_Y * POOL_STRIDE_Y * STRIDE_Y - PAD_Y;
    int left = first_column * POOL_STRIDE_X * STRIDE_X - PAD_X;
    int sums = i < POSITIONS_Y && first < POSITIONS_X, writes = i < RESULTS_Y && row < ROWS;

    for (int64 unit = blockIdx.z; unit < (int64)images * MAPS; unit += gridDim.z) {
        const GLOBAL float* image = x + unit / MAPS * IMAGE_SIZE;
        int m = unit % MAPS;
        float z[EACH];
        UNROLL for (int n = 0; n < EACH; n++) z[n] = bias[m];
        for (int c = 0; c < CHANNELS; c++) {
            const GLOBAL float* mask = weights + (m * CHANNELS + c) * MASK_SIZE;
            UNROLL for (int n = 0; n < EACH; n++)
                inputs[i][first + n] = pixel(image + c * HEIGHT * WIDTH, top + i, left + first + n);
            __syncthreads();
            if (sums)
                UNROLL for (int p = 0; p < MASK_HEIGHT; p++)
                    UNROLL for (int q = 0; q < MASK_WIDTH; q++) {
                        float tap = mask[p * MASK_WIDTH + q];
                        UNROLL for (int n = 0; n < EACH; n++)
                            if (first + n < POSITIONS_X)
                                z[n] += tap * inputs[i * STRIDE_Y + p][(first + n) * STRIDE_X + q];
                    }
            __syncthreads();
        }
        UNROLL for (int n = 0; n < EACH; n++) {
            int j = first + n;
            if (sums && j < POSITIONS_X)
                positions[i][j] = activate(kept(z[n], top + i * STRIDE_Y, left + j * STRIDE_X));
        }
        __syncthreads();
        UNROLL for (int n = 0; n < EACH; n++) {
            int j = first + n, column = first_column + j;
            if (writes && j < RESULTS_X && column < COLUMNS) {
                const SHARED float* window = &positions[i * POOL_STRIDE_Y][j * POOL_STRIDE_X];
                out[(unit * ROWS + row) * COLUMNS + column] = pooled_window(window, POSITIONS_X);
            }
        }
    }
}
