// Rung 15, row_vector: two output rows a block.
//
// Two rows of the convolution read the same input rows but one each.  The block copies all
// input rows of a channel that both need to shared memory between two barriers; a window, once
// read, meets the taps of both output rows, and the 2x2 maximum needs no second pass.  What it
// removes: most barriers, and half the reads of shared memory.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[CHANNELS][MASK_HEIGHT][MASK_WIDTH][MAPS],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x blocks that share out pairs of the convolution's rows (the tunable GROUPS), y spans of
// SPAN columns of the convolution, z images.  Block: ITEMS threads that share out the maps.

#include "conv2d/gpu/rows.h"

#define LINES (MASK_HEIGHT + 1)
#define TAP_ROW (MASK_WIDTH * MAPS)

// Adds what a line gives to the upper and to the lower output row; `taps` are the upper row's.
__device__ __forceinline__ void slide(const SHARED float* line, const GLOBAL float* taps,
                                      int is_upper, int is_lower, float4* upper, float4* lower)
{
    UNROLL for (int q = 0; q < MASK_WIDTH; q++) {
        float upper_tap = is_upper ? taps[q * MAPS] : 0.0f;
        float lower_tap = is_lower ? taps[q * MAPS - TAP_ROW] : 0.0f;
        UNROLL for (int w = 0; w < WINDOWS; w++) {
            const SHARED float* from = line + 4 * w + q;
            float4 window = make_float4(from[0], from[1], from[2], from[3]);
            if (is_upper) upper[w] = add_product(upper[w], upper_tap, window);
            if (is_lower) lower[w] = add_product(lower[w], lower_tap, window);
        }
    }
}

// The results of four columns of both rows; plane is the map's.
__device__ __forceinline__ void store(GLOBAL float* plane, int pair, int column, float4 upper,
                                      float4 lower)
{
    float y[2][4] = {{activate(upper.x), activate(upper.y), activate(upper.z), activate(upper.w)},
                     {activate(lower.x), activate(lower.y), activate(lower.z), activate(lower.w)}};
    UNROLL for (int i = 0; i < 2 / POOL_HEIGHT; i++)
        UNROLL for (int j = 0; j < 4 / POOL_WIDTH; j++) {
            int row = pair * 2 / POOL_HEIGHT + i, at = column / POOL_WIDTH + j;
            float pooled = POOL_START;
            UNROLL for (int a = 0; a < POOL_HEIGHT; a++)
                UNROLL for (int b = 0; b < POOL_WIDTH; b++)
                    pooled = POOL_WITH(pooled, y[i + a][j * POOL_WIDTH + b]);
            if (row < ROWS && at < COLUMNS) plane[row * COLUMNS + at] = pooled;
        }
}

__global__ void LAUNCH_BOUNDS(ITEMS)
conv2d(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
       const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    __shared__ float lines[LINES][LINE];
    int item = threadIdx.x, first = blockIdx.y * SPAN;
    for (int n = blockIdx.z; n < images; n += gridDim.z)
        for (int pair = blockIdx.x; 2 * pair < CONV_ROWS; pair += gridDim.x)
            for (int base = 0; base < MAPS; base += ITEMS) {
                // A thread without a map takes the last one's weights, and only keeps the barriers.
                int m = base + item < MAPS ? base + item : MAPS - 1;
                float4 upper[WINDOWS], lower[WINDOWS];
                UNROLL for (int w = 0; w < WINDOWS; w++)
                    upper[w] = lower[w] = make_float4(bias[m], bias[m], bias[m], bias[m]);
                for (int c = 0; c < CHANNELS; c++) {
                    const GLOBAL float* channel = x + (size_t)n * IMAGE_SIZE + c * HEIGHT * WIDTH;
                    const GLOBAL float* taps = weights + c * MASK_HEIGHT * TAP_ROW + m;
                    __syncthreads();
                    for (int e = item; e < LINES * LINE; e += ITEMS)
                        lines[e / LINE][e % LINE] =
                            pixel(channel, 2 * pair - PAD_Y + e / LINE, first - PAD_X + e % LINE);
                    __syncthreads();
                    slide(lines[0], taps, 1, 0, upper, lower);
                    for (int p = 1; p < MASK_HEIGHT; p++)
                        slide(lines[p], taps + p * TAP_ROW, 1, 1, upper, lower);
                    slide(lines[MASK_HEIGHT], taps + MASK_HEIGHT * TAP_ROW, 0, 1, upper, lower);
                }
                GLOBAL float* plane = out + ((size_t)n * MAPS + m) * ROWS * COLUMNS;
                if (base + item < MAPS)
                    UNROLL for (int w = 0; w < WINDOWS; w++)
                        store(plane, pair, first + 4 * w, upper[w], lower[w]);
            }
}
