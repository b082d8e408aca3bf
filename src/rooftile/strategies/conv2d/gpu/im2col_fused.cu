// im2col_fused: the unrolled matrix exists only as tiles in shared memory.
//
// The matrix product of the rung below, but a tile of the unrolled matrix is gathered
// from the image when it is needed, so that nothing goes to memory and back.  Columns are
// ordered so that a pooling window's positions are one thread's, one after another: bias,
// activation and pool happen in registers, and one kernel does everything.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[MAPS][FILTER_SIZE], bias[MAPS],
// out[images][MAPS][ROWS][COLUMNS].
// Grid: x over the results of one map of all images, y over maps, in tiles of
// TILE_COLUMNS x TILE_MAPS; a thread makes one result.

#include "conv2d/gpu/conv2d.h"

// One element of the unrolled matrix: the input under a tap of the mask at (top, left).
__device__ __forceinline__ float unrolled(const GLOBAL float* image, int tap, int top, int left)
{
    int c = tap / MASK_SIZE, p = tap % MASK_SIZE / MASK_WIDTH, q = tap % MASK_WIDTH;
    return pixel(image + c * HEIGHT * WIDTH, top + p, left + q);
}

__global__ void im2col_fused(
    const GLOBAL float* x, const GLOBAL float* weights, const GLOBAL float* bias, GLOBAL float* out,
    int images)
{
    __shared__ float filters[TILE_MAPS][TILE_TAPS];
    __shared__ float inputs[TILE_TAPS][TILE_COLUMNS];
    int lane = threadIdx.x, y = threadIdx.y;
    int first_map = blockIdx.y * TILE_MAPS, m = first_map + y;
    int64 place = (int64)blockIdx.x * TILE_COLUMNS + lane;
    int64 n = place / (ROWS * COLUMNS);
    int row = (int)(place % (ROWS * COLUMNS)) / COLUMNS, column = (int)(place % COLUMNS);
    int inside = n < images;

    const GLOBAL float* image = x + (inside ? (size_t)n * IMAGE_SIZE : 0);
    float shift = m < MAPS ? bias[m] : 0.0f, pooled = POOL_START;
    for (int position = 0; position < POOL_HEIGHT * POOL_WIDTH; position++) {
        int top = (row * POOL_STRIDE_Y + position / POOL_WIDTH) * STRIDE_Y - PAD_Y;
        int left = (column * POOL_STRIDE_X + position % POOL_WIDTH) * STRIDE_X - PAD_X;
        float sum = 0.0f;
        for (int start = 0; start < FILTER_SIZE; start += TILE_TAPS) {
            // Beyond the last tap both factors are zero, so that no infinity meets a zero there.
            for (int e = y * TILE_COLUMNS + lane; e < TILE_MAPS * TILE_TAPS;
                 e += TILE_MAPS * TILE_COLUMNS) {
                int map = first_map + e / TILE_TAPS, tap = start + e % TILE_TAPS;
                bool inside_filter = map < MAPS && tap < FILTER_SIZE;
                filters[e / TILE_TAPS][e % TILE_TAPS] =
                    inside_filter ? weights[(size_t)map * FILTER_SIZE + tap] : 0.0f;
            }
            for (int k = y; k < TILE_TAPS; k += TILE_MAPS)
                inputs[k][lane] = inside && start + k < FILTER_SIZE
                                      ? unrolled(image, start + k, top, left)
                                      : 0.0f;
            __syncthreads();
            UNROLL for (int k = 0; k < TILE_TAPS; k++) sum += filters[y][k] * inputs[k][lane];
            __syncthreads();
        }
        pooled = POOL_WITH(pooled, activate(kept(sum + shift, top, left)));
    }
    if (inside && m < MAPS)
        out[((size_t)(n * MAPS + m) * ROWS + row) * COLUMNS + column] = POOL_END(pooled);
}
