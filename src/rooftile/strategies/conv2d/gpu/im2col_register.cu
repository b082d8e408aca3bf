// im2col_register: implicit matrix multiply, tiled in registers and shared memory.
//
// Maps x pixels = (maps x taps) (taps x pixels), the second matrix read from the image as it
// is needed.  A thread keeps 8 x 8 results in registers, so that a value read from shared
// memory serves eight multiply-adds; while one tile of taps is multiplied, the next is on
// its way from memory.  Pixels are ordered window by window of the pool, so that a
// window's positions are neighbours in one thread's registers.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[taps rounded up to TILE_K][PADDED_MAPS] with tap
// (p * MASK_WIDTH + q) * CHANNELS + c, bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x over tiles of 128 pixels of all images, y over tiles of 128 maps.  Block: 256 threads,
// 16 x 16 over the tile, each with four and four more maps and pixels, 64 apart.

#include "conv2d/gpu/conv2d.h"

#define TILE 128
#define HALF 64
#define WINDOW (POOL_HEIGHT * POOL_WIDTH)
#define PIXELS (ROWS * COLUMNS * WINDOW)
// Numbers of vectors of weights, and of inputs, that each thread loads of a tile of taps.
#define VECTORS (TILE_K / 8)
#define LOADS (TILE_K / 2)

// Weights of four maps, of every eighth tap.
__device__ __forceinline__ void fetch_weights(const GLOBAL float* weights, float4* fetched)
{
    UNROLL for (int l = 0; l < VECTORS; l++)
        fetched[l] = *(const GLOBAL float4*)(weights + 8 * l * PADDED_MAPS);
}

// The row or column of an image that stands for one, which may be outside it.
__device__ __forceinline__ int nearest(int index, int size)
{
    return REPLICATES ? clamped(index, size) : index;
}

// Inputs of one pixel, whose window starts at (top, left), behind every second tap from `start` on.
__device__ __forceinline__ void fetch_inputs(const GLOBAL float* image, int top, int left,
                                             int start, float* fetched)
{
#if CHANNELS % TILE_K == 0
    // The taps of a tile differ in the channel alone: one place in the mask, looked up once.
    int place = start / CHANNELS, c = start % CHANNELS;
    int i = nearest(top + place / MASK_WIDTH, HEIGHT), j = nearest(left + place % MASK_WIDTH, WIDTH);
    bool inside = i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH;
    int at = (c * HEIGHT + i) * WIDTH + j;
    UNROLL for (int l = 0; l < LOADS; l++) fetched[l] =
        inside ? image[at + 2 * l * HEIGHT * WIDTH] : 0.0f;
#else
    UNROLL for (int l = 0; l < LOADS; l++) {
        int tap = start + 2 * l, c = tap % CHANNELS, place = tap / CHANNELS;
        int i = nearest(top + place / MASK_WIDTH, HEIGHT);
        int j = nearest(left + place % MASK_WIDTH, WIDTH);
        bool inside = i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH && tap < FILTER_SIZE;
        fetched[l] = inside ? image[(c * HEIGHT + i) * WIDTH + j] : 0.0f;
    }
#endif
}

// Stores the fetched values into tiles [TILE_K][TILE] in shared memory.
__device__ __forceinline__ void keep(const float4* weights, const float* inputs, int thread,
                                     SHARED float* left, SHARED float* right)
{
    UNROLL for (int l = 0; l < VECTORS; l++)
        *(SHARED float4*)(left + (thread / 32 + 8 * l) * TILE + thread % 32 * 4) = weights[l];
    UNROLL for (int l = 0; l < LOADS; l++)
        right[(thread / TILE + 2 * l) * TILE + thread % TILE] = inputs[l];
}

// Add to a thread's 8 x 8 sums, from its place in each tile.
__device__ __forceinline__ void multiply(const SHARED float* left, const SHARED float* right,
                                         float sum[8][8])
{
    UNROLL for (int k = 0; k < TILE_K; k++, left += TILE, right += TILE) {
        float4 a0 = *(const SHARED float4*)left, a1 = *(const SHARED float4*)(left + HALF);
        float4 b0 = *(const SHARED float4*)right, b1 = *(const SHARED float4*)(right + HALF);
        float row[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
        float line[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
        UNROLL for (int m = 0; m < 8; m++)
            UNROLL for (int n = 0; n < 8; n++) sum[m][n] += row[m] * line[n];
    }
}

// Bias, activation and pool of one window whose positions are neighbours in `sum`.  The result's
// `place` in its plane says which one.
__device__ __forceinline__ float pool(const float* sum, float shift, int place)
{
    float pooled = POOL_START;
    UNROLL for (int n = 0; n < WINDOW; n++) {
        int row = place / COLUMNS * POOL_STRIDE_Y + n / POOL_WIDTH;
        int column = place % COLUMNS * POOL_STRIDE_X + n % POOL_WIDTH;
        float z = kept(sum[n] + shift, row * STRIDE_Y - PAD_Y, column * STRIDE_X - PAD_X);
        pooled = POOL_WITH(pooled, activate(z));
    }
    return POOL_END(pooled);
}

// A thread's results: pixels from `tx` on, maps from `ty` on.
__device__ __forceinline__ void store(float sum[8][8], const GLOBAL float* bias, GLOBAL float* out,
                                      int images, int tx, int ty)
{
    UNROLL for (int side = 0; side < 2; side++)
        UNROLL for (int w = 0; w < 4 / WINDOW; w++) {
            int64 pixel_made = (int64)blockIdx.x * TILE + side * HALF + tx * 4 + w * WINDOW;
            if (pixel_made >= (int64)images * PIXELS) continue;
            int place = (int)(pixel_made % PIXELS) / WINDOW;
            GLOBAL float* plane = out + (size_t)(pixel_made / PIXELS) * RESULT_SIZE + place;
            UNROLL for (int m = 0; m < 8; m++) {
                int map = blockIdx.y * TILE + m / 4 * HALF + ty * 4 + m % 4;
                if (map < MAPS)
                    plane[(size_t)map * ROWS * COLUMNS] =
                        pool(sum[m] + side * 4 + w * WINDOW, bias[map], place);
            }
        }
}

__global__ RESIDENT_BOUNDS(256, 2) void im2col_register(
    const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
    const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    __shared__ __attribute__((aligned(16))) float left_tile[2][TILE_K * TILE];
    __shared__ __attribute__((aligned(16))) float right_tile[2][TILE_K * TILE];
    int thread = threadIdx.x, tx = thread % 16, ty = thread / 16;

    // The pixel that this thread fetches, for every second tap of a tile.
    int64 pixel_fetched = (int64)blockIdx.x * TILE + thread % TILE;
    int within = (int)(pixel_fetched % PIXELS);
    int position = within % WINDOW, window = within / WINDOW;
    int top = (window / COLUMNS * POOL_STRIDE_Y + position / POOL_WIDTH) * STRIDE_Y - PAD_Y;
    int left = (window % COLUMNS * POOL_STRIDE_X + position % POOL_WIDTH) * STRIDE_X - PAD_X;
    // Beyond the last image: a window without a tap inside.
    int64 n = pixel_fetched / PIXELS;
    if (n >= images) top = HEIGHT;
    const GLOBAL float* image = x + (size_t)(n < images ? n : 0) * IMAGE_SIZE;
    weights += thread / 32 * PADDED_MAPS + blockIdx.y * TILE + thread % 32 * 4;

    float sum[8][8], inputs[LOADS];
    float4 taken[VECTORS];
    UNROLL for (int m = 0; m < 8; m++) UNROLL for (int n = 0; n < 8; n++) sum[m][n] = 0.0f;

    fetch_weights(weights, taken);
    fetch_inputs(image, top, left, thread / TILE, inputs);
    keep(taken, inputs, thread, left_tile[0], right_tile[0]);
    __syncthreads();
    for (int start = 0, buffer = 0; start < FILTER_SIZE; start += TILE_K, buffer ^= 1) {
        bool more = start + TILE_K < FILTER_SIZE;
        if (more) {
            fetch_weights(weights + (start + TILE_K) * PADDED_MAPS, taken);
            fetch_inputs(image, top, left, start + TILE_K + thread / TILE, inputs);
        }
        multiply(left_tile[buffer] + ty * 4, right_tile[buffer] + tx * 4, sum);
        if (more) keep(taken, inputs, thread, left_tile[buffer ^ 1], right_tile[buffer ^ 1]);
        __syncthreads();
    }
    store(sum, bias, out, images, tx, ty);
}
