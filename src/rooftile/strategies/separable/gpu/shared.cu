// shared: both passes in shared memory.
//
// A block loads the input of a tile with its halo, makes the column's sums of the tile and of the
// halo at its sides, and from these the row's.  Between the three stand barriers: sums are read by
// other threads than make them.  Masks are in constant memory.  What it removes: the sums between the
// passes from device memory, and repeated reads of x; what it costs: the column's sums of the halo,
// which neighbours make as well.
//
// x[images][height][width], down_taps[HIGH], across_taps[WIDE], out[images][rows][columns].
// Grid: x and y over tiles of TILE_X x TILE_Y, z over images.
// Block: x over 32 threads, y over TEAMS of them.

#include "separable.h"

CONSTANT_ARRAY(float, down_taps, HIGH)
CONSTANT_ARRAY(float, across_taps, WIDE)

#define THREADS (32 * TEAMS)
#define LOADED_Y (TILE_Y + HIGH - 1)
#define LOADED_X (TILE_X + WIDE - 1)

__global__ void LAUNCH_BOUNDS(THREADS)
shared(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out, int height, int width,
       int rows, int columns,
       int images CONSTANT_ARGUMENT(float, down_taps) CONSTANT_ARGUMENT(float, across_taps))
{
    __shared__ float tile[LOADED_Y][LOADED_X];
    __shared__ float sums[TILE_Y][LOADED_X];
    int thread = threadIdx.y * 32 + threadIdx.x;
    int top = blockIdx.y * TILE_Y, left = blockIdx.x * TILE_X;
    for (int n = blockIdx.z; n < images; n += gridDim.z) {
        const GLOBAL float* image = x + (int64)n * height * width;
        for (int e = thread; e < LOADED_Y * LOADED_X; e += THREADS)
            tile[e / LOADED_X][e % LOADED_X] = element(
                image, top + e / LOADED_X - TOP, left + e % LOADED_X - LEFT, height, width);
        __syncthreads();
        for (int e = thread; e < TILE_Y * LOADED_X; e += THREADS) {
            int i = e / LOADED_X, j = e % LOADED_X;
            float sum = 0.0f;
            UNROLL for (int begin = 0; begin < HIGH; begin += PART_TAPS) {
                float part = 0.0f;
                UNROLL for (int p = begin; p < PART_END(begin, HIGH); p++)
                    part += down_taps[p] * tile[i + p][j];
                sum += part;
            }
            sums[i][j] = sum;
        }
        __syncthreads();
        for (int e = thread; e < TILE_Y * TILE_X; e += THREADS) {
            int i = e / TILE_X, j = e % TILE_X;
            float sum = 0.0f;
            UNROLL for (int begin = 0; begin < WIDE; begin += PART_TAPS) {
                float part = 0.0f;
                UNROLL for (int q = begin; q < PART_END(begin, WIDE); q++)
                    part += across_taps[q] * sums[i][j + q];
                sum += part;
            }
            if (top + i < rows && left + j < columns)
                out[((int64)n * rows + top + i) * columns + left + j] = sum;
        }
        // The next image's sums overwrite what this one's have been made of.
        __syncthreads();
    }
}
