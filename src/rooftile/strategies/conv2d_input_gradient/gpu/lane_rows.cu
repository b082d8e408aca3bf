// Rung 3, lane_rows: the lanes of a warp are the rows of the masks, a window's patch in registers.
//
// In `gathered` a pixel looks at every gradient that it may have met, and half of them it has not.
// Here a warp takes the winners of a window, one after another: a lane adds a row of a channel's
// mask, times the gradient, to the row of the window's patch that it falls on.  Where in its window a
// winner stands is the same for all lanes: a jump picks the registers, and the loop over maps is
// short enough to stay where instructions are fetched from.  Columns that no later window of the row
// reaches are added to the image's rows in shared memory, and rows that no later window reaches go
// out, whole.
// What it removes: looks at gradients that a pixel has not met, and loads of their masks.
//
// Each warp of a block has some of the maps, and rows of its own; sums over warps have a fixed order.
//
// dy and where: see common/places.h; weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// dx[images][CHANNELS][HEIGHT][WIDTH].
// Grid: x over images; y over groups of GROUP_CHANNELS channels.  Block: WARPS warps.

#include "common/places.h"

#ifdef __OPENCL_VERSION__
#define FLOAT_BITS(value) as_int(value)
#define WARP_READY() __syncthreads()
#else
#define FLOAT_BITS(value) __float_as_int(value)
#define WARP_READY() __syncwarp()
#endif

#define THREADS (32 * WARPS)
#define PATCH_COLUMNS (WINDOW_WIDTH + MASK_WIDTH - 1)
#define LANES (GROUP_CHANNELS * MASK_HEIGHT)
// A mask's row in pieces of four.
#define PIECES ((MASK_WIDTH + 3) / 4)
// Steps of a window until all rows, and all columns, are complete.
#define DOWN ((HEIGHT + 2 * PAD_Y + WINDOW_HEIGHT - 1) / WINDOW_HEIGHT)
#define ACROSS (COLUMNS + (MASK_WIDTH - 1 + WINDOW_WIDTH - 1) / WINDOW_WIDTH)
// A warp's rows that are not complete: a ring.
#define RING (WINDOW_HEIGHT + MASK_HEIGHT - 1)
#define PLANE (RING * PITCH)

// A row of a mask, times a gradient, falls on a row of the window's patch, from where the winner
// stands; places that a window has not are folded into it.
#define ADD_AT(e)                                   \
    case e:                                         \
        UNROLL for (int q = 0; q < MASK_WIDTH; q++) \
            patch[(e) / WINDOW_WIDTH % WINDOW_HEIGHT][(e) % WINDOW_WIDTH + q] += gradient * taps[q]; \
        break;

__device__ __forceinline__ void add_row(float patch[WINDOW_HEIGHT][PATCH_COLUMNS], int place,
                                        float gradient, const float taps[4 * PIECES])
{
    switch (place) {
        ADD_AT(0) ADD_AT(1) ADD_AT(2) ADD_AT(3) ADD_AT(4) ADD_AT(5) ADD_AT(6) ADD_AT(7)
        ADD_AT(8) ADD_AT(9) ADD_AT(10) ADD_AT(11) ADD_AT(12) ADD_AT(13) ADD_AT(14) ADD_AT(15)
    }
}

// An image's gradients, as bits, and their places in their windows.
__device__ __forceinline__ void hold_winners(const GLOBAL float* dy, const GLOBAL int* where, int64 n,
                                             SHARED int2* held)
{
    for (int at = threadIdx.x; at < MAPS * GRADIENTS; at += THREADS) {
        int e = at % GRADIENTS, place = where[n * MAPS * GRADIENTS + at];
        int i = place / CONV_COLUMNS - e / COLUMNS * WINDOW_HEIGHT;
        int j = place % CONV_COLUMNS - e % COLUMNS * WINDOW_WIDTH;
        int2 one;
        one.x = FLOAT_BITS(dy[n * MAPS * GRADIENTS + at]);
        one.y = i * WINDOW_WIDTH + j;
        held[at] = one;
    }
}

// The masks of some channels, so that lanes beside each other read pieces beside each other.
__device__ __forceinline__ void hold_masks(const GLOBAL float* weights, int first,
                                           SHARED float4* masks)
{
    for (int at = threadIdx.x; at < MAPS * PIECES * LANES; at += THREADS) {
        int m = at / (PIECES * LANES), piece = at / LANES % PIECES, row = at % LANES;
        int c = first + row / MASK_HEIGHT;
        float four[4];
        UNROLL for (int v = 0; v < 4; v++) {
            int q = 4 * piece + v, there = c < CHANNELS && q < MASK_WIDTH;
            int64 from = ((int64)m * CHANNELS + c) * TAPS + row % MASK_HEIGHT * MASK_WIDTH + q;
            four[v] = there ? weights[from] : 0.0f;
        }
        masks[at] = make_float4(four[0], four[1], four[2], four[3]);
    }
}

__global__ void LAUNCH_BOUNDS(THREADS)
input_gradient(const GLOBAL float* __restrict__ dy, const GLOBAL int* __restrict__ where,
               const GLOBAL float* __restrict__ weights, GLOBAL float* __restrict__ dx)
{
    __shared__ float ring[WARPS * GROUP_CHANNELS * PLANE];
    __shared__ int2 held[MAPS * GRADIENTS];
    __shared__ float4 masks[MAPS * PIECES * LANES];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.y * GROUP_CHANNELS;
    // Lanes beyond the last row repeat it, and write nothing.
    int own = lane < LANES ? lane : LANES - 1, channel = own / MASK_HEIGHT, p = own % MASK_HEIGHT;
    int64 n = blockIdx.x;

    for (int at = threadIdx.x; at < WARPS * GROUP_CHANNELS * PLANE; at += THREADS) ring[at] = 0.0f;
    hold_winners(dy, where, n, held);
    hold_masks(weights, first, masks);
    __syncthreads();

    SHARED float* plane = ring + (warp * GROUP_CHANNELS + channel) * PLANE;
    int top = 0;
    for (int r = 0; r < DOWN; r++) {
        float patch[WINDOW_HEIGHT][PATCH_COLUMNS];
        UNROLL for (int a = 0; a < WINDOW_HEIGHT; a++)
            UNROLL for (int v = 0; v < PATCH_COLUMNS; v++) patch[a][v] = 0.0f;
        for (int c = 0; c < (r < ROWS ? ACROSS : 0); c++) {
            ROLLED for (int m = warp; m < (c < COLUMNS ? MAPS : 0); m += WARPS) {
                int2 one = held[m * GRADIENTS + r * COLUMNS + c];
                float taps[4 * PIECES];
                UNROLL for (int v = 0; v < PIECES; v++) {
                    float4 four = masks[(m * PIECES + v) * LANES + own];
                    taps[4 * v] = four.x, taps[4 * v + 1] = four.y;
                    taps[4 * v + 2] = four.z, taps[4 * v + 3] = four.w;
                }
                add_row(patch, one.y, __int_as_float(one.x), taps);
            }
            UNROLL for (int a = 0; a < WINDOW_HEIGHT; a++) {
                int row = top + a + p;
                SHARED float* to = plane + (row < RING ? row : row - RING) * PITCH + c * WINDOW_WIDTH;
                if (lane < LANES)
                    UNROLL for (int v = 0; v < WINDOW_WIDTH; v++) to[v] += patch[a][v];
                // The row below may be the next lane's.
                WARP_READY();
                UNROLL for (int v = 0; v < PATCH_COLUMNS; v++)
                    patch[a][v] = v + WINDOW_WIDTH < PATCH_COLUMNS ? patch[a][v + WINDOW_WIDTH] : 0.0f;
            }
        }
        __syncthreads();
        for (int at = threadIdx.x; at < GROUP_CHANNELS * WINDOW_HEIGHT * WIDTH; at += THREADS) {
            int c = at / (WINDOW_HEIGHT * WIDTH), a = at / WIDTH % WINDOW_HEIGHT, j = at % WIDTH;
            int row = top + a < RING ? top + a : top + a - RING, i = r * WINDOW_HEIGHT + a - PAD_Y;
            SHARED float* from = ring + c * PLANE + row * PITCH + j + PAD_X;
            float sum = 0.0f;
            UNROLL for (int w = 0; w < WARPS; w++) sum += from[w * GROUP_CHANNELS * PLANE];
            if (i >= 0 && i < HEIGHT && first + c < CHANNELS)
                dx[((n * CHANNELS + first + c) * HEIGHT + i) * WIDTH + j] = sum;
        }
        __syncthreads();
        for (int at = threadIdx.x; at < WARPS * GROUP_CHANNELS * WINDOW_HEIGHT * PITCH; at += THREADS) {
            int a = at / PITCH % WINDOW_HEIGHT, row = top + a < RING ? top + a : top + a - RING;
            ring[at / (WINDOW_HEIGHT * PITCH) * PLANE + row * PITCH + at % PITCH] = 0.0f;
        }
        __syncthreads();
        top += WINDOW_HEIGHT;
        if (top >= RING) top -= RING;
    }
}
