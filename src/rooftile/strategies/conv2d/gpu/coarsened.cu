// coarsened: several outputs a thread, in registers.
//
// In the rungs before, every multiply-add waits for an input and a weight from memory.
// Here a thread sums THREAD_MAPS maps at THREAD_COLUMNS positions, so an input from
// shared memory serves all its maps and a weight all its positions; the block also loads
// its input tile once for all these maps.  The positions are a block's width apart, so
// that neighbouring threads read neighbouring words.  What it removes: reads of shared
// memory.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x and y over the result's tiles of RESULTS_X x RESULTS_Y, z over images x groups
// of THREAD_MAPS maps.
// Block: THREADS_X x THREADS_Y threads over POSITIONS_X x POSITIONS_Y of the convolution.

#include "conv2d/gpu/conv2d.h"

#define THREADS (THREADS_X * THREADS_Y)
#define GROUPS ((MAPS + THREAD_MAPS - 1) / THREAD_MAPS)

__global__ void LAUNCH_BOUNDS(THREADS)
coarsened(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
          const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    __shared__ float inputs[LOADED_Y][LOADED_X];
    __shared__ float masks[MASK_SIZE][THREAD_MAPS];
    __shared__ float positions[POSITIONS_Y][POSITIONS_X];
    int i = threadIdx.y, j = threadIdx.x, thread = i * THREADS_X + j;
    int first_column = blockIdx.x * RESULTS_X, row = blockIdx.y * RESULTS_Y + i;
    int top = blockIdx.y * RESULTS_Y * POOL_STRIDE_Y * STRIDE_Y - PAD_Y;
    int left = first_column * POOL_STRIDE_X * STRIDE_X - PAD_X;

    for (int64 unit = blockIdx.z; unit < (int64)images * GROUPS; unit += gridDim.z) {
        int64 n = unit / GROUPS;
        int first = unit % GROUPS * THREAD_MAPS;
        float sums[THREAD_MAPS][THREAD_COLUMNS];
        UNROLL for (int k = 0; k < THREAD_MAPS; k++)
            UNROLL for (int w = 0; w < THREAD_COLUMNS; w++)
                sums[k][w] = first + k < MAPS ? bias[first + k] : 0.0f;

        for (int c = 0; c < CHANNELS; c++) {
            const GLOBAL float* channel = x + n * IMAGE_SIZE + c * HEIGHT * WIDTH;
            for (int e = thread; e < LOADED_Y * LOADED_X; e += THREADS)
                inputs[e / LOADED_X][e % LOADED_X] =
                    pixel(channel, top + e / LOADED_X, left + e % LOADED_X);
            for (int e = thread; e < MASK_SIZE * THREAD_MAPS; e += THREADS) {
                int m = first + e / MASK_SIZE, tap = e % MASK_SIZE;
                masks[tap][m - first] =
                    m < MAPS ? weights[(m * CHANNELS + c) * MASK_SIZE + tap] : 0.0f;
            }
            __syncthreads();
            for (int p = 0; p < MASK_HEIGHT; p++)
                UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                    UNROLL for (int w = 0; w < THREAD_COLUMNS; w++) {
                        int across = (j + w * THREADS_X) * STRIDE_X + q;
                        float value = inputs[i * STRIDE_Y + p][across];
                        UNROLL for (int k = 0; k < THREAD_MAPS; k++)
                            sums[k][w] += masks[p * MASK_WIDTH + q][k] * value;
                    }
            __syncthreads();
        }

        UNROLL for (int k = 0; k < THREAD_MAPS; k++) {
            UNROLL for (int w = 0; w < THREAD_COLUMNS; w++)
                positions[i][j + w * THREADS_X] =
                    activate(kept(sums[k][w], top + i * STRIDE_Y,
                                  left + (j + w * THREADS_X) * STRIDE_X));
            __syncthreads();
            for (int r = j; r < RESULTS_X; r += THREADS_X) {
                if (first + k >= MAPS || i >= RESULTS_Y || row >= ROWS ||
                    first_column + r >= COLUMNS) continue;
                const SHARED float* window = &positions[i * POOL_STRIDE_Y][r * POOL_STRIDE_X];
                out[((n * MAPS + first + k) * ROWS + row) * COLUMNS + first_column + r] =
                    pooled_window(window, POSITIONS_X);
            }
            __syncthreads();
        }
    }
}
