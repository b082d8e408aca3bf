// Rung 3, lane_rows: the lanes of a warp are the rows of the masks, a window's patch in registers.
//
// In `gathered` a pixel looks at every gradient that it may have met, and half of them it has not.
// Here a warp takes the winners of a window, one after another: a lane has a row of a channel's
// mask, of each map, in its registers, and adds it, times the gradient, to the row of the window's
// patch that it falls on.  Where in its window a winner stands is the same for all lanes: a jump
// picks the registers.  Columns that no later window of the row reaches are added to the image's rows in
// shared memory, and rows that no later window reaches go out, whole.
// What it removes: looks at gradients that a pixel has not met, and the load of a weight for each
// multiply-add.
//
// Each warp of a block has some of the maps, and rows of its own; sums over warps have a fixed order.
//
// dy and where: see common/places.h; weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// dx[images][CHANNELS][HEIGHT][WIDTH].
// Grid: x over images; y over groups of GROUP_CHANNELS channels.  Block: WARPS warps.

#include "common/window_places.h"

#ifdef __OPENCL_VERSION__
#define WARP_READY() __syncthreads()
#else
#define WARP_READY() __syncwarp()
#endif

#define THREADS (32 * WARPS)
#define PATCH_COLUMNS (WINDOW_WIDTH + MASK_WIDTH - 1)
#define LANES (GROUP_CHANNELS * MASK_HEIGHT)
// Steps of a window until all rows, and all columns, are complete.
#define DOWN ((HEIGHT + 2 * PAD_Y + WINDOW_HEIGHT - 1) / WINDOW_HEIGHT)
#define ACROSS (COLUMNS + (MASK_WIDTH - 1 + WINDOW_WIDTH - 1) / WINDOW_WIDTH)
// A warp's rows that are not complete: a ring.
#define RING (WINDOW_HEIGHT + MASK_HEIGHT - 1)
#define PLANE (RING * PITCH)

// A row of a mask, times a gradient, falls on a row of the window's patch.
#define ADD_ROW(place)                          \
    UNROLL for (int q = 0; q < MASK_WIDTH; q++) \
        patch[ROW_OF(place)][COLUMN_OF(place) + q] += gradient * taps[m][q];

__global__ RESIDENT_BOUNDS(THREADS, LEAST_BLOCKS) void input_gradient(
    const GLOBAL float* __restrict__ dy, const GLOBAL int* __restrict__ where,
    const GLOBAL float* __restrict__ weights, GLOBAL float* __restrict__ dx)
{
    __shared__ __attribute__((aligned(16))) float ring[WARPS * GROUP_CHANNELS * PLANE];
    __shared__ int2 held[HELD];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.y * GROUP_CHANNELS;
    int channel = lane / MASK_HEIGHT, p = lane % MASK_HEIGHT;
    int64 n = blockIdx.x;

    float taps[WARP_MAPS][MASK_WIDTH];
    UNROLL for (int m = 0; m < WARP_MAPS; m++)
        UNROLL for (int q = 0; q < MASK_WIDTH; q++) {
            int map = warp * WARP_MAPS + m, c = first + channel;
            int there = map < MAPS && lane < LANES && c < CHANNELS;
            int64 row = ((int64)(there ? map : 0) * CHANNELS + (there ? c : 0)) * MASK_HEIGHT + p;
            taps[m][q] = there ? weights[row * MASK_WIDTH + q] : 0.0f;
        }
    for (int at = threadIdx.x; at < WARPS * GROUP_CHANNELS * PLANE; at += THREADS) ring[at] = 0.0f;
    hold_winners(dy, where, n, held);
    __syncthreads();

    SHARED float* plane = ring + (warp * GROUP_CHANNELS + channel) * PLANE;
    const SHARED int2* own = held + warp * WARP_MAPS * GRADIENTS;
    int top = 0;
    for (int r = 0; r < DOWN; r++) {
        float patch[WINDOW_HEIGHT][PATCH_COLUMNS];
        UNROLL for (int a = 0; a < WINDOW_HEIGHT; a++)
            UNROLL for (int v = 0; v < PATCH_COLUMNS; v++) patch[a][v] = 0.0f;
        for (int c = 0; c < (r < ROWS ? ACROSS : 0); c++) {
            if (c < COLUMNS)
                UNROLL for (int m = 0; m < WARP_MAPS; m++) {
                    int2 one = own[m * GRADIENTS + r * COLUMNS + c];
                    float gradient = __int_as_float(one.x);
                    AT_PLACE(one.y, ADD_ROW)
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
