// Rung 4, windows: a thread keeps a mask's sums in registers while windows of a max-pool pass.
//
// In `lane_taps` every product of a winner and a tap asks shared memory for its pixel.  Here a
// thread takes a whole winner: what the mask met there are a few rows, which it reads two pixels at
// a time from an even column on; whether the winner stands in its window's first or second column
// says which of two registers a tap takes.  What it removes: half of the reads of shared memory.
// What it costs: all threads' sums are joined at the end, so that it pays for many images.
// PITCH is a multiple of the banks: lanes whose winners stand in different rows still meet
// different banks.
//
// Sums are made by block, then by `finish` over the blocks, in a fixed order.
//
// x[images][CHANNELS][HEIGHT][WIDTH], dy and where: see common/places.h,
// partial[gridDim.x][MAPS][COLUMNS_ALL]: a map's weights, then its bias.
// Grid: x over images, which blocks share out; y over groups of TEAMS maps; z over channels.
// Block: x over TEAM threads of a map, y over TEAMS maps.

#include "conv2d_weights_gradient/gpu/finish.h"

#define TEAM 64
// Pixels that a row of the mask met, the winner in either column, in whole pairs.
#define PAIRS ((MASK_WIDTH + 2) / 2)
#define JOINED 8
#define ROUNDS ((TAPS + JOINED) / JOINED)

// Fills the tile with a channel of an image, and what lies around it with zeros.
__device__ __forceinline__ void stage(const GLOBAL float* plane, SHARED float* tile, int thread)
{
    for (int at = thread; at < TILE_ROWS * PITCH; at += TEAM * TEAMS) {
        int i = at / PITCH - PAD_Y, j = at % PITCH - PAD_X;
        int inside = i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH;
        tile[at] = inside ? plane[i * WIDTH + j] : 0.0f;
    }
}

// Adds what one winner brings to all sums; `even` is the even column at or before it.
__device__ __forceinline__ void add(const SHARED float* even, int odd, float gradient, float* sum)
{
    UNROLL for (int p = 0; p < MASK_HEIGHT; p++) {
        float row[2 * PAIRS];
        UNROLL for (int v = 0; v < PAIRS; v++) {
            float2 two = *(const SHARED float2*)(even + p * PITCH + 2 * v);
            row[2 * v] = two.x, row[2 * v + 1] = two.y;
        }
        UNROLL for (int q = 0; q < MASK_WIDTH; q++)
            sum[p * MASK_WIDTH + q] += gradient * (odd ? row[q + 1] : row[q]);
    }
}

__global__ void RESIDENT_BOUNDS(TEAM * TEAMS, 3)
weights_partial(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ dy,
                WHERE_ARGUMENT GLOBAL float* __restrict__ partial, int images)
{
    __shared__ __attribute__((aligned(16))) float tile[TILE_ROWS * PITCH];
    __shared__ float joined[TEAMS][JOINED][TEAM], halves[TEAMS][TEAM];
    int lane = threadIdx.x, team = threadIdx.y, map = blockIdx.y * TEAMS + team;
    int channel = blockIdx.z, thread = team * TEAM + lane;
    // Teams beyond the maps walk no gradients.
    int gradients = map < MAPS ? GRADIENTS : 0;
    float sum[ROUNDS * JOINED];
    UNROLL for (int k = 0; k < ROUNDS * JOINED; k++) sum[k] = 0.0f;

    for (int n = blockIdx.x; n < images; n += gridDim.x) {
        __syncthreads();
        stage(x + ((size_t)n * CHANNELS + channel) * HEIGHT * WIDTH, tile, thread);
        __syncthreads();
        for (int e = lane; e < gradients; e += TEAM) {
            int64 number = ((int64)n * MAPS + map) * GRADIENTS + e;
            float gradient = dy[number];
            int place = where[number], i = place / CONV_COLUMNS, j = place % CONV_COLUMNS;
            add(tile + i * PITCH + (j & ~1), j & 1, gradient, sum);
            sum[TAPS] += gradient;
        }
    }

    // Eight sums of all threads at a time: of each, eight threads join eight, and one these.
    UNROLL for (int k = 0; k < ROUNDS; k++) {
        __syncthreads();
        UNROLL for (int v = 0; v < JOINED; v++) joined[team][v][lane] = sum[k * JOINED + v];
        __syncthreads();
        float eight = 0.0f;
        UNROLL for (int v = 0; v < 8; v++)
            eight += joined[team][lane / 8][lane % 8 + 8 * v];
        halves[team][lane] = eight;
        __syncthreads();
        int tap = k * JOINED + lane;
        int mine = lane < JOINED && map < MAPS && (tap < TAPS || (tap == TAPS && channel == 0));
        float all = 0.0f;
        UNROLL for (int v = 0; v < 8; v++) all += halves[team][lane % JOINED * 8 + v];
        int column = tap == TAPS ? CHANNELS * TAPS : channel * TAPS + tap;
        if (mine) partial[((int64)blockIdx.x * MAPS + map) * COLUMNS_ALL + column] = all;
    }
}
