// Rung 5, lane_rows: the lanes of a warp are rows of the masks, whose sums stay in registers.
//
// In `lane_taps` a winner costs a load from shared memory for each multiply-add.  Here a lane has the
// sums of a row of a channel's mask, of each map, in its registers, and the pixels that it may meet
// of the window at hand: the winners of all maps choose among the same.  Where in its window a winner
// stands is the same for all lanes: a jump picks the registers.  From window to window only the new
// columns are read.
// What it removes: a load for each multiply-add.
//
// The bias is the sum of a lane more, whose pixels are ones.  Sums are made by block, then by
// `finish` over these, in a fixed order.
//
// x[images][CHANNELS][HEIGHT][WIDTH], dy and where: see common/places.h;
// partial[gridDim.x][MAPS][COLUMNS_ALL]: a map's weights, then its bias.
// Grid: x over images, which blocks share out; y over groups of GROUP_CHANNELS channels.
// Block: WARPS warps, each with some of the maps.

#include "common/window_places.h"
#include "conv2d_weights_gradient/gpu/finish.h"

#define LANES (GROUP_CHANNELS * MASK_HEIGHT)
#define PADDED_HEIGHT (HEIGHT + 2 * PAD_Y)
#define PLANE (PADDED_HEIGHT * PITCH)
// Columns of pixels in registers: whole windows.
#define PIECES ((WINDOW_WIDTH + MASK_WIDTH - 1 + WINDOW_WIDTH - 1) / WINDOW_WIDTH)
#define PATCH_COLUMNS (PIECES * WINDOW_WIDTH)

#define ADD_ROW(place)                          \
    UNROLL for (int q = 0; q < MASK_WIDTH; q++) \
        sum[m][q] += gradient * patch[ROW_OF(place)][COLUMN_OF(place) + q];

// Fills the tile with some channels of an image; what lies around them stays zeros.
__device__ __forceinline__ void hold_image(const GLOBAL float* image, SHARED float* tile, int first)
{
    for (int at = threadIdx.x; at < GROUP_CHANNELS * HEIGHT * WIDTH; at += 32 * WARPS) {
        int c = at / (HEIGHT * WIDTH), i = at / WIDTH % HEIGHT, j = at % WIDTH;
        tile[c * PLANE + (i + PAD_Y) * PITCH + j + PAD_X] =
            first + c < CHANNELS ? image[(int64)first * HEIGHT * WIDTH + at] : 0.0f;
    }
}

__global__ RESIDENT_BOUNDS(32 * WARPS, LEAST_BLOCKS) void weights_partial(
    const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ dy,
    const GLOBAL int* __restrict__ where, GLOBAL float* __restrict__ partial, int images)
{
    // Behind the tile a piece of ones.
    __shared__ __attribute__((aligned(16))) float tile[GROUP_CHANNELS * PLANE + WINDOW_WIDTH];
    __shared__ int2 held[HELD];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.y * GROUP_CHANNELS;
    int channel = lane / MASK_HEIGHT, p = lane % MASK_HEIGHT, of_bias = lane >= LANES;
    const SHARED int2* own = held + warp * WARP_MAPS * GRADIENTS;

    for (int at = threadIdx.x; at < GROUP_CHANNELS * PLANE + WINDOW_WIDTH; at += 32 * WARPS)
        tile[at] = at < GROUP_CHANNELS * PLANE ? 0.0f : 1.0f;
    float sum[WARP_MAPS][MASK_WIDTH];
    UNROLL for (int m = 0; m < WARP_MAPS; m++)
        UNROLL for (int q = 0; q < MASK_WIDTH; q++) sum[m][q] = 0.0f;

    for (int n = blockIdx.x; n < images; n += gridDim.x) {
        __syncthreads();
        hold_image(x + (int64)n * CHANNELS * HEIGHT * WIDTH, tile, first);
        hold_winners(dy, where, n, held);
        __syncthreads();
        for (int r = 0; r < ROWS; r++) {
            const SHARED float* rows = tile + channel * PLANE + (r * WINDOW_HEIGHT + p) * PITCH;
            float patch[WINDOW_HEIGHT][PATCH_COLUMNS];
            UNROLL for (int a = 0; a < WINDOW_HEIGHT; a++)
                UNROLL for (int v = WINDOW_WIDTH; v < PATCH_COLUMNS; v++)
                    patch[a][v] = of_bias ? 1.0f : rows[a * PITCH + v - WINDOW_WIDTH];
            for (int c = 0; c < COLUMNS; c++) {
                UNROLL for (int a = 0; a < WINDOW_HEIGHT; a++) {
                    UNROLL for (int v = 0; v < PATCH_COLUMNS - WINDOW_WIDTH; v++)
                        patch[a][v] = patch[a][v + WINDOW_WIDTH];
                    const SHARED float* piece =
                        of_bias ? tile + GROUP_CHANNELS * PLANE
                                : rows + a * PITCH + (c + PIECES - 1) * WINDOW_WIDTH;
                    UNROLL for (int v = 0; v < WINDOW_WIDTH; v++)
                        patch[a][PATCH_COLUMNS - WINDOW_WIDTH + v] = piece[v];
                }
                UNROLL for (int m = 0; m < WARP_MAPS; m++) {
                    int2 one = own[m * GRADIENTS + r * COLUMNS + c];
                    float gradient = __int_as_float(one.x);
                    AT_PLACE(one.y, ADD_ROW)
                }
            }
        }
    }

    UNROLL for (int m = 0; m < WARP_MAPS; m++)
        UNROLL for (int q = 0; q < MASK_WIDTH; q++) {
            int map = warp * WARP_MAPS + m, column = (first + channel) * TAPS + p * MASK_WIDTH + q;
            int mine = !of_bias && first + channel < CHANNELS;
            GLOBAL float* to = partial + ((int64)blockIdx.x * MAPS + map) * COLUMNS_ALL;
            if (map < MAPS && mine) to[column] = sum[m][q];
            if (map < MAPS && lane == LANES && first == 0 && q == 0) to[CHANNELS * TAPS] = sum[m][0];
        }
}
