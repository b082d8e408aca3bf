// windows: a thread keeps a mask's sums in registers while windows of a max-pool pass.
//
// In `lane_taps` every product of a winner and a tap asks shared memory for its pixel.  Here a
// thread takes a whole winner: what the mask met there are a few rows, which it reads two pixels at
// a time from an even column on; whether the winner stands in its window's first or second column
// says which of two registers a tap takes.  What it removes: half of the reads of shared memory.
// What it costs: all threads' sums are joined at the end, so that it pays for many images.
// PITCH is a multiple of the banks: lanes whose winners stand in different rows still meet
// different banks.  Of few images each has several blocks.
//
// Sums are made by block, then by `finish` over the blocks, in a fixed order.
//
// x[images][CHANNELS][HEIGHT][WIDTH], dy and where: see common/places.h,
// partial[gridDim.x][MAPS][COLUMNS_ALL]: a map's weights, then its bias.
// Grid: x over images, which blocks share out, times PARTS parts of their windows; y over groups of
// TEAMS maps; z over channels.
// Block: x over TEAM threads of a map, y over TEAMS maps.

#define FAMILY windows
#include "common/pipelines/pdl.h"
#include "conv2d_weights_gradient/gpu/finish.h"

#define TEAM 64
#define PART_SIZE ((GRADIENTS + PARTS - 1) / PARTS)
// Pixels that a row of the mask met, the winner in either column, in whole pairs.
#define PAIRS ((MASK_WIDTH + 2) / 2)
// From a sum of all threads to the next: neighbouring threads' sums are in other banks.
#define APART (TEAM + 1)
// Bytes of a copy of a row.
#if WIDTH % 2 == 0 && PAD_X % 2 == 0
#define PIECE float2
#else
#define PIECE float
#endif
#define PIECE_PIXELS ((int)(sizeof(PIECE) / sizeof(float)))
#define ROW_PIECES (WIDTH / PIECE_PIXELS)

// Starts to copy a channel of an image into the tile; the elements around it stay zeros.
__device__ __forceinline__ void start(const GLOBAL float* plane, SHARED float* tile, int thread)
{
    for (int at = thread; at < HEIGHT * ROW_PIECES; at += TEAM * TEAMS) {
        int i = at / ROW_PIECES, j = at % ROW_PIECES * PIECE_PIXELS;
        COPY_ASYNC(PIECE, (SHARED PIECE*)(tile + (i + PAD_Y) * PITCH + PAD_X + j),
                   (const GLOBAL PIECE*)(plane + i * WIDTH + j));
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
windows(const GLOBAL float* x, const GLOBAL float* dy,
        WHERE_ARGUMENT GLOBAL float* __restrict__ partial, int images)
{
    __shared__ __attribute__((aligned(16))) float tile[HELD];
    int lane = threadIdx.x, team = threadIdx.y, map = blockIdx.y * TEAMS + team;
    int channel = blockIdx.z, thread = team * TEAM + lane;
    // Teams beyond the maps walk no gradients.
    int part = blockIdx.x % PARTS, begin = part * PART_SIZE, end = begin + PART_SIZE;
    end = map >= MAPS ? 0 : end < GRADIENTS ? end : GRADIENTS;
    float sum[TAPS + 1];
    UNROLL for (int k = 0; k <= TAPS; k++) sum[k] = 0.0f;
    for (int at = thread; at < TILE_ROWS * PITCH; at += TEAM * TEAMS) tile[at] = 0.0f;
    GRIDDEPCONTROL_WAIT();

    for (int n = blockIdx.x / PARTS; n < images; n += gridDim.x / PARTS) {
        int64 first = ((int64)n * MAPS + map) * GRADIENTS;
        int e = begin + lane, place = 0;
        float gradient = 0.0f;
        __syncthreads();
        start(x + ((int64)n * CHANNELS + channel) * HEIGHT * WIDTH, tile, thread);
        if (e < end) gradient = dy[first + e], place = where[first + e];
        COPIES_DONE();
        __syncthreads();
        for (; e < end; e += TEAM) {
            // The next winner is on its way while this one is added.
            spot won = spot_of(place, e);
            float added = OF_WINNER(gradient, place);
            if (e + TEAM < end) gradient = dy[first + e + TEAM], place = where[first + e + TEAM];
            add(tile + won.row * PITCH + (won.column & ~1), won.column & 1, added, sum);
            sum[TAPS] += added;
        }
    }

    // JOINED sums of all threads at a time, where the tile was: a thread adds up one of them.
    SHARED float* joined = tile + team * JOINED * APART;
    UNROLL for (int k = 0; k <= TAPS; k += JOINED) {
        __syncthreads();
        UNROLL for (int v = 0; v < JOINED; v++)
            if (k + v <= TAPS) joined[v * APART + lane] = sum[k + v];
        __syncthreads();
        int tap = k + lane;
        int mine = lane < JOINED && map < MAPS && (tap < TAPS || (tap == TAPS && channel == 0));
        if (mine) {
            float all[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            UNROLL_BY(4) for (int v = 0; v < TEAM; v += 4)
                UNROLL for (int u = 0; u < 4; u++) all[u] += joined[lane * APART + v + u];
            int column = tap == TAPS ? CHANNELS * TAPS : channel * TAPS + tap;
            partial[((int)blockIdx.x * MAPS + map) * COLUMNS_ALL + column] =
                all[0] + all[1] + (all[2] + all[3]);
        }
    }
}
