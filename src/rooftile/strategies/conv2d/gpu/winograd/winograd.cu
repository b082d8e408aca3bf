// winograd: fewer multiplications by Toom-Cook transforms; precision `fast`.
//
// A tile of SIZE x SIZE_X inputs is transformed, multiplied by the transformed mask at each
// of its POSITIONS, summed over channels, and transformed to 4 x OUT_X outputs.  For 3x3
// and 5x5 masks both directions are transformed: 36 multiplications for 144 and 64 for 400.
// For 7 rows only the height is (10 for 28), and the taps of a row stay a sum.
// The sum is a matrix product at each position; a thread holds THREAD_MAPS x
// THREAD_COLUMNS of it in registers.  An infinity or NaN spreads over its tile: where an
// output is not finite, its tile is computed from the definition.
//
// x[..][CHANNELS][HEIGHT][WIDTH], weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH], bias[MAPS],
// out[..][MAPS][ROWS][COLUMNS], masks[POSITIONS][CHANNELS][TAPS_X][MAPS] (transformed),
// transformed[POSITIONS][CHANNELS][images][TILES_Y][SPAN_X],
// products[POSITIONS][MAPS][images][TILES_Y][TILES_X]; `images` of a slice of the batch,
// the first of them `first`.

#include "conv2d/gpu/conv2d.h"
#include "common/wide.h"

#define POSITIONS (SIZE * SIZE_X)
#define TAPS (CHANNELS * TAPS_X)
// Columns of a mask that are transformed together.
#define MASK_X (SIZE_X > 1 ? MASK_WIDTH : 1)
#define OUT_Y 4
// A run: neighbouring columns of the convolution that one thread finishes.
#define RUN_X (SIZE_X > 1 ? OUT_X : POOL_WIDTH)
#define RUNS_X ((CONV_COLUMNS + RUN_X - 1) / RUN_X)
#define THREADS_X (TILE_COLUMNS / THREAD_COLUMNS)
#define THREADS_Y (TILE_MAPS / THREAD_MAPS)

// Transforms the masks.  Grid: a thread a tap of a map, in blocks of THREADS.
__global__ void winograd_transform_weights(const GLOBAL float* weights, GLOBAL float* masks)
{
    int place = blockIdx.x * THREADS + threadIdx.x, tap = place / MAPS;
    if (place >= TAPS * MAPS) return;

    const GLOBAL float* mask =
        weights + ((size_t)(place % MAPS) * CHANNELS + tap / TAPS_X) * MASK_SIZE + tap % TAPS_X;
    wide line[MASK_HEIGHT], result[SIZE], square[SIZE][MASK_X];
    UNROLL for (int q = 0; q < MASK_X; q++) {
        UNROLL for (int p = 0; p < MASK_HEIGHT; p++) line[p] = mask[p * MASK_WIDTH + q];
        TRANSFORM_WEIGHTS(line, result);
        UNROLL for (int p = 0; p < SIZE; p++) square[p][q] = result[p];
    }
    UNROLL for (int p = 0; p < SIZE; p++) {
#if SIZE_X > 1
        TRANSFORM_WEIGHTS(square[p], result);
#else
        result[0] = square[p][0];
#endif
        UNROLL for (int q = 0; q < SIZE_X; q++)
            masks[(size_t)(p * SIZE_X + q) * (TAPS * MAPS) + place] = result[q];
    }
}

// Grid: x over an image's tiles in blocks of THREADS, y over channels, z over images.
__global__ void winograd_transform_input(
    const GLOBAL float* x, GLOBAL float* transformed, int first, int images)
{
    int tile = blockIdx.x * THREADS + threadIdx.x;
    if (tile >= TILES_Y * SPAN_X) return;

    int top = tile / SPAN_X * OUT_Y - PAD_Y, left = tile % SPAN_X * OUT_X - PAD_X;
    for (int n = blockIdx.z; n < images; n += gridDim.z)
        for (int c = blockIdx.y; c < CHANNELS; c += gridDim.y) {
            const GLOBAL float* channel =
                x + ((size_t)first + n) * IMAGE_SIZE + c * HEIGHT * WIDTH;
            float line[SIZE], result[SIZE], square[SIZE][SIZE_X];
            UNROLL for (int q = 0; q < SIZE_X; q++) {
                UNROLL for (int p = 0; p < SIZE; p++)
                    line[p] = met_pixel(channel, top + p, left + q);
                TRANSFORM_INPUT(line, result);
                UNROLL for (int p = 0; p < SIZE; p++) square[p][q] = result[p];
            }
            UNROLL for (int p = 0; p < SIZE; p++) {
#if SIZE_X > 1
                TRANSFORM_INPUT(square[p], result);
#else
                result[0] = square[p][0];
#endif
                UNROLL for (int q = 0; q < SIZE_X; q++) {
                    size_t row = ((size_t)(p * SIZE_X + q) * CHANNELS + c) * images + n;
                    transformed[row * (TILES_Y * SPAN_X) + tile] = result[q];
                }
            }
        }
}

// One element of a position's inputs: tap = channel x TAPS_X + column of the mask.
__device__ __forceinline__ float tap_input(const GLOBAL float* inputs, int tap, int column,
                                           int images)
{
#if SIZE_X > 1
    return inputs[(size_t)tap * images * (TILES_Y * TILES_X) + column];
#else
    size_t row = (size_t)(tap / TAPS_X) * images * TILES_Y + column / TILES_X;
    return inputs[row * SPAN_X + column % TILES_X + tap % TAPS_X];
#endif
}

// Grid: x over tiles of all images, y over maps, in blocks of TILE_COLUMNS x TILE_MAPS, z
// over positions.  A thread's columns lie THREADS_X apart, its maps THREADS_Y.
__global__ LAUNCH_BOUNDS(THREADS_X * THREADS_Y) void winograd_multiply(
    const GLOBAL float* masks, const GLOBAL float* transformed, GLOBAL float* products, int images)
{
    __shared__ float filters[TILE_TAPS][TILE_MAPS];
    __shared__ float inputs[TILE_TAPS][TILE_COLUMNS];
    int x = threadIdx.x, y = threadIdx.y, thread = y * THREADS_X + x;
    int first_map = blockIdx.y * TILE_MAPS, first_column = blockIdx.x * TILE_COLUMNS;
    int columns = images * TILES_Y * TILES_X;
    const GLOBAL float* left = masks + (size_t)blockIdx.z * TAPS * MAPS;
    const GLOBAL float* right =
        transformed + (size_t)blockIdx.z * CHANNELS * images * (TILES_Y * SPAN_X);

    float sums[THREAD_MAPS][THREAD_COLUMNS];
    UNROLL for (int i = 0; i < THREAD_MAPS; i++)
        UNROLL for (int j = 0; j < THREAD_COLUMNS; j++) sums[i][j] = 0.0f;
    for (int start = 0; start < TAPS; start += TILE_TAPS) {
        for (int e = thread; e < TILE_TAPS * TILE_MAPS; e += THREADS_X * THREADS_Y) {
            int tap = start + e / TILE_MAPS, m = first_map + e % TILE_MAPS;
            filters[e / TILE_MAPS][e % TILE_MAPS] =
                tap < TAPS && m < MAPS ? left[(size_t)tap * MAPS + m] : 0.0f;
        }
        for (int e = thread; e < TILE_TAPS * TILE_COLUMNS; e += THREADS_X * THREADS_Y) {
            int tap = start + e / TILE_COLUMNS, column = first_column + e % TILE_COLUMNS;
            inputs[e / TILE_COLUMNS][e % TILE_COLUMNS] =
                tap < TAPS && column < columns ? tap_input(right, tap, column, images) : 0.0f;
        }
        __syncthreads();
        UNROLL for (int k = 0; k < TILE_TAPS; k++) {
            float filter[THREAD_MAPS];
            UNROLL for (int i = 0; i < THREAD_MAPS; i++) filter[i] = filters[k][y + i * THREADS_Y];
            UNROLL for (int j = 0; j < THREAD_COLUMNS; j++) {
                float input = inputs[k][x + j * THREADS_X];
                UNROLL for (int i = 0; i < THREAD_MAPS; i++) sums[i][j] += filter[i] * input;
            }
        }
        __syncthreads();
    }
    UNROLL for (int i = 0; i < THREAD_MAPS; i++)
        UNROLL for (int j = 0; j < THREAD_COLUMNS; j++) {
            int m = first_map + y + i * THREADS_Y, column = first_column + x + j * THREADS_X;
            if (m < MAPS && column < columns)
                products[((size_t)blockIdx.z * MAPS + m) * columns + column] = sums[i][j];
        }
}

// Makes the 4 x RUN_X sums of a run, without bias, and returns whether all are finite.  `tile`
// points at the run's first product; positions lie `pitch` apart.
__device__ __forceinline__ int transform_output(const GLOBAL float* tile, size_t pitch,
                                                float sums[OUT_Y][RUN_X])
{
    float line[SIZE], result[OUT_Y];
    int finite = 1;
#if SIZE_X > 1
    float columns_done[OUT_Y][SIZE_X];
    UNROLL for (int q = 0; q < SIZE_X; q++) {
        UNROLL for (int p = 0; p < SIZE; p++) line[p] = tile[(p * SIZE_X + q) * pitch];
        TRANSFORM_OUTPUT(line, result);
        UNROLL for (int i = 0; i < OUT_Y; i++) columns_done[i][q] = result[i];
    }
    UNROLL for (int i = 0; i < OUT_Y; i++) TRANSFORM_OUTPUT(columns_done[i], sums[i]);
#else
    UNROLL for (int j = 0; j < RUN_X; j++) {
        UNROLL for (int p = 0; p < SIZE; p++) line[p] = tile[p * pitch + j];
        TRANSFORM_OUTPUT(line, result);
        UNROLL for (int i = 0; i < OUT_Y; i++) sums[i][j] = result[i];
    }
#endif
    UNROLL for (int i = 0; i < OUT_Y; i++)
        UNROLL for (int j = 0; j < RUN_X; j++) finite = finite && isfinite(sums[i][j]);
    return finite;
}

// Computes a result from its definition.
__device__ __forceinline__ float direct_result(const GLOBAL float* image,
                                               const GLOBAL float* filter, float shift, int row,
                                               int column)
{
    float pooled = POOL_START;
    for (int position = 0; position < POOL_HEIGHT * POOL_WIDTH; position++) {
        int top = row * POOL_HEIGHT + position / POOL_WIDTH - PAD_Y;
        int left = column * POOL_WIDTH + position % POOL_WIDTH - PAD_X;
        pooled = POOL_WITH(pooled, activate(kept(direct_sum(image, filter, top, left) + shift,
                                                      top, left)));
    }
    return POOL_END(pooled);
}

// Grid: x over an image's runs in blocks of THREADS, y over maps, z over images.
__global__ void winograd_transform_finish(const GLOBAL float* x, const GLOBAL float* weights,
                                          const GLOBAL float* bias, const GLOBAL float* products,
                                          GLOBAL float* out, int first, int images)
{
    int unit = blockIdx.x * THREADS + threadIdx.x;
    if (unit >= TILES_Y * RUNS_X) return;

    int tile_y = unit / RUNS_X, run = unit % RUNS_X;
    size_t pitch = (size_t)MAPS * images * (TILES_Y * TILES_X);
    for (int n = blockIdx.z; n < images; n += gridDim.z)
        for (int m = blockIdx.y; m < MAPS; m += gridDim.y) {
            size_t tiles = ((size_t)m * images + n) * TILES_Y + tile_y;
            float sums[OUT_Y][RUN_X];
            int finite = transform_output(
                products + tiles * TILES_X + run * (RUN_X / OUT_X), pitch, sums);
            const GLOBAL float* image = x + ((size_t)first + n) * IMAGE_SIZE;
            const GLOBAL float* filter = weights + (size_t)m * FILTER_SIZE;
            GLOBAL float* plane = out + (((size_t)first + n) * MAPS + m) * (ROWS * COLUMNS);
            UNROLL for (int i = 0; i < OUT_Y / POOL_HEIGHT; i++)
                UNROLL for (int j = 0; j < RUN_X / POOL_WIDTH; j++) {
                    int row = tile_y * (OUT_Y / POOL_HEIGHT) + i;
                    int column = run * (RUN_X / POOL_WIDTH) + j;
                    float pooled = POOL_START;
                    UNROLL for (int a = 0; a < POOL_HEIGHT; a++)
                        UNROLL for (int b = 0; b < POOL_WIDTH; b++) {
                            float sum = sums[i * POOL_HEIGHT + a][j * POOL_WIDTH + b];
                            float z = kept(sum + bias[m], row * POOL_HEIGHT + a - PAD_Y,
                                           column * POOL_WIDTH + b - PAD_X);
                            pooled = POOL_WITH(pooled, activate(z));
                        }
                    if (finite && row < ROWS && column < COLUMNS)
                        plane[row * COLUMNS + column] = POOL_END(pooled);
                }
            if (finite) continue;
            for (int k = 0; k < OUT_Y / POOL_HEIGHT * (RUN_X / POOL_WIDTH); k++) {
                int row = tile_y * (OUT_Y / POOL_HEIGHT) + k / (RUN_X / POOL_WIDTH);
                int column = run * (RUN_X / POOL_WIDTH) + k % (RUN_X / POOL_WIDTH);
                if (row < ROWS && column < COLUMNS)
                    plane[row * COLUMNS + column] =
                        direct_result(image, filter, bias[m], row, column);
            }
        }
}
