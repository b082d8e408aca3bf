// tile_core: only the core of the input tile in shared memory.
//
// The halo of a block is the core of its neighbours, which likely read it at about the
// same time, so it is read from global memory through the cache.  What it removes: the
// loads beyond one element a thread (a stride's worth of elements where the stride is
// larger), and the threads that idle; what it costs: a test at each tap.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x and y over the result's tiles of RESULTS_X x RESULTS_Y, z over images x maps.
// Block: POSITIONS_X x POSITIONS_Y threads, each one position of the convolution.

#include "conv2d/gpu/conv2d.h"

#define THREADS (THREADS_X * THREADS_Y)
#define CENTRE_Y ((MASK_HEIGHT - 1) / 2)
#define CENTRE_X ((MASK_WIDTH - 1) / 2)

__global__ void LAUNCH_BOUNDS(THREADS)
tile_core(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
          const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    __shared__ float core[LOADED_Y][LOADED_X];
    __shared__ float positions[POSITIONS_Y][POSITIONS_X];
    int i = threadIdx.y, j = threadIdx.x, thread = i * THREADS_X + j;
    int row = blockIdx.y * RESULTS_Y + i, column = blockIdx.x * RESULTS_X + j;
    int first_row = blockIdx.y * RESULTS_Y * POOL_STRIDE_Y * STRIDE_Y - PAD_Y;
    int first_column = blockIdx.x * RESULTS_X * POOL_STRIDE_X * STRIDE_X - PAD_X;
    // The core begins under the centre of the first position's mask.
    int top = first_row + CENTRE_Y, left = first_column + CENTRE_X;
    int writes = i < RESULTS_Y && j < RESULTS_X && row < ROWS && column < COLUMNS;

    for (int64 unit = blockIdx.z; unit < (int64)images * MAPS; unit += gridDim.z) {
        const GLOBAL float* image = x + unit / MAPS * IMAGE_SIZE;
        int m = unit % MAPS;
        float z = bias[m];
        for (int c = 0; c < CHANNELS; c++) {
            const GLOBAL float* channel = image + c * HEIGHT * WIDTH;
            const GLOBAL float* mask = weights + (m * CHANNELS + c) * MASK_SIZE;
            for (int e = thread; e < LOADED_Y * LOADED_X; e += THREADS)
                core[e / LOADED_X][e % LOADED_X] =
                    pixel(channel, top + e / LOADED_X, left + e % LOADED_X);
            __syncthreads();
            for (int p = 0; p < MASK_HEIGHT; p++)
                UNROLL for (int q = 0; q < MASK_WIDTH; q++) {
                    int down = i * STRIDE_Y + p - CENTRE_Y, across = j * STRIDE_X + q - CENTRE_X;
                    int image_row = top + down, image_column = left + across;
                    int core_row = clamped(down, LOADED_Y), core_column = clamped(across, LOADED_X);
                    int inside = down == core_row && across == core_column;
                    int near_row = clamped(image_row, HEIGHT);
                    int near_column = clamped(image_column, WIDTH);
                    int ghost = image_row != near_row || image_column != near_column;
                    // One branch and no more: PoCL 3.0 miscompiles nested ones here.
                    float near = core[core_row][core_column];
                    float far = 0.0f;
                    if (!inside && (REPLICATES || !ghost))
                        far = channel[near_row * WIDTH + near_column];
                    z += mask[p * MASK_WIDTH + q] * (inside ? near : far);
                }
            __syncthreads();
        }
        positions[i][j] = activate(kept(z, first_row + i * STRIDE_Y, first_column + j * STRIDE_X));
        __syncthreads();
        if (writes) {
            const SHARED float* window = &positions[i * POOL_STRIDE_Y][j * POOL_STRIDE_X];
            out[(unit * ROWS + row) * COLUMNS + column] = pooled_window(window, POSITIONS_X);
        }
    }
}
