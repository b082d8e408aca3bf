// From what windows bring to pixels: sums over neighbouring windows, to an image of four channels in
// shared memory, and from there to device memory.
//
// A warp has two rows of windows, a lane of each row one window: lane / 4.  Of the pixels that it
// reaches a lane has every other column, from lane / 2 % 2 on, and two channels, from lane % 2 * 2 on.

#pragma once

#include "common/formats.h"
#include "conv2d_input_gradient/gpu/brought.h"
#include "conv2d_input_gradient/gpu/warpgroups/winners.h"

#define PIXELS (HEIGHT * WIDTH)
// Rows of pixels of a warp's windows, and those that the next warp's windows reach too.
#define OWN_LINES (2 * WINDOW_HEIGHT)
#define SHARED_LINES (LINES - WINDOW_HEIGHT)
// Columns of pixels that a row of windows reaches.
#define REACHED ((TILE - 1) * WINDOW_WIDTH + SIDE)
#define MET_LINES (LINES + WINDOW_HEIGHT)
// Whether all that windows reach is inside of the image; then four pixels are stored together.
#define ALL_INSIDE \
    (PAD_Y == 0 && PAD_X == 0 && HEIGHT >= 3 * OWN_LINES + MET_LINES && WIDTH >= REACHED)
#define VECTORS (ALL_INSIDE && WINDOW_WIDTH == 4 && WIDTH % 4 == 0)

// Shared memory of a warpgroup: lines passed[4 warps][SHARED_LINES][REACHED][2 pairs of channels] on
// their way to the next warp, and an image tile[4 channels][TILE_PITCH], whose channels begin in banks
// of their own.
typedef struct {
    float2* passed;
    result* tile;
} Rooms;

// Waits until all of a warpgroup are here.
__device__ __forceinline__ void together(int group)
{
    asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
}

// Pixels that no window reaches stay zeros.
__device__ __forceinline__ void clear(result* tile)
{
    for (int at = threadIdx.x % 128; at < 4 * TILE_PITCH; at += 128) tile[at] = RESULT(0.0f);
}

// A row of pixels, as a lane's windows bring it, in both rows of windows: pairs of columns, of two
// channels.
typedef float line[CHUNKS][2];

// The rows of pixels that a warp's windows reach.  What lies in a window on the right is added to its
// own; the last window keeps it.
__device__ __forceinline__ void join(const float sum[LINES][2 * SIDE], line lines[MET_LINES])
{
    UNROLL for (int i = 0; i < MET_LINES; i++)
        UNROLL for (int d = 0; d < CHUNKS; d++)
            UNROLL for (int c = 0; c < 2; c++) {
                int lower = i - WINDOW_HEIGHT;
                lines[i][d][c] = i < LINES ? sum[i < LINES ? i : 0][4 * d + c] : 0.0f;
                if (lower >= 0) lines[i][d][c] += sum[lower < 0 ? 0 : lower][4 * d + 2 + c];
            }
    // The first window has none on its left, and is given what is its own, which does not count.
    float counts = threadIdx.x % 32 < 4 ? 0.0f : 1.0f;
    UNROLL for (int d = CHUNKS - 1; d >= WINDOW_WIDTH / 2; d--)
        UNROLL for (int i = 0; i < MET_LINES; i++)
            UNROLL for (int c = 0; c < 2; c++) {
                float left = __shfl_up_sync(~0u, lines[i][d][c], 4);
                lines[i][d - WINDOW_WIDTH / 2][c] = fmaf(left, counts, lines[i][d - WINDOW_WIDTH / 2][c]);
            }
}

// Pairs of columns of a window's own, and those beyond, which the last window of a row keeps.
#define OWN_PAIRS (WINDOW_WIDTH / 2)
#define LAST_WINDOW (threadIdx.x % 32 / 4 == TILE - 1)
// Where a lane's pixels of line i lie that a warp passes on.
#define PASSED_AT(warp, i, d)                                                                      \
    ((((warp) * SHARED_LINES + (i)) * REACHED + threadIdx.x % 32 / 4 * WINDOW_WIDTH + 2 * (d) +    \
      threadIdx.x / 2 % 2) * 2 + threadIdx.x % 2)

// A warp passes rows of pixels on.
__device__ __forceinline__ void pass(const line lines[SHARED_LINES], float2* passed, int warp)
{
    UNROLL for (int i = 0; i < SHARED_LINES; i++)
        UNROLL for (int d = 0; d < CHUNKS; d++)
            if (d < OWN_PAIRS || LAST_WINDOW)
                passed[PASSED_AT(warp, i, d)] = make_float2(lines[i][d][0], lines[i][d][1]);
}

// Adds those that a warp has passed on.
__device__ __forceinline__ void take(line lines[SHARED_LINES], const float2* passed, int warp)
{
    UNROLL for (int i = 0; i < SHARED_LINES; i++)
        UNROLL for (int d = 0; d < CHUNKS; d++)
            if (d < OWN_PAIRS || LAST_WINDOW) {
                float2 two = passed[PASSED_AT(warp, i, d)];
                lines[i][d][0] += two.x, lines[i][d][1] += two.y;
            }
}

// Stores a pixel of the padded image to a channel of the tile.
__device__ __forceinline__ void put(result* plane, int i, int j, float value)
{
    int y = i - PAD_Y, x = j - PAD_X;
    if (ALL_INSIDE || (y >= 0 && y < HEIGHT && x >= 0 && x < WIDTH))
        plane[y * WIDTH + x] = RESULT(value);
}

// Stores rows of pixels to the tile, from row `top` on.  Lanes of odd and even columns change one of
// their channels each, so that each has neighbours.
__device__ __forceinline__ void put_lines(const line* lines, int count, int top, result* tile)
{
    int lane = threadIdx.x % 32, odd = lane / 2 % 2, left = lane / 4 * WINDOW_WIDTH;
    result* plane = tile + (lane % 2 * 2 + odd) * TILE_PITCH;
    UNROLL for (int i = 0; i < count; i++) {
        float pixel[WINDOW_WIDTH];
        UNROLL for (int d = 0; d < OWN_PAIRS; d++) {
            float even = lines[i][d][0], other = lines[i][d][1];
            float got = __shfl_xor_sync(~0u, odd ? even : other, 2);
            pixel[2 * d] = odd ? got : even, pixel[2 * d + 1] = odd ? other : got;
        }
#if VECTORS
        *(result_4*)(plane + (top + i) * WIDTH + left) =
            RESULT_4(pixel[0], pixel[1], pixel[2], pixel[3]);
#else
        UNROLL for (int v = 0; v < WINDOW_WIDTH; v++) put(plane, top + i, left + v, pixel[v]);
#endif
    }
    if (!LAST_WINDOW) return;
    UNROLL for (int i = 0; i < count; i++)
        UNROLL for (int d = OWN_PAIRS; d < CHUNKS; d++)
            UNROLL for (int c = 0; c < 2; c++)
                put(tile + (lane % 2 * 2 + c) * TILE_PITCH, top + i, left + 2 * d + odd,
                    lines[i][d][c]);
}

// Adds up what windows bring to each pixel of an image, in the tile.  What the last warp's windows
// reach beyond its rows is the first one's to store, which takes nothing from another.
__device__ __forceinline__ void add_up(const float sum[LINES][2 * SIDE], Rooms rooms, int group)
{
    int warp = threadIdx.x % 128 / 32;
    line lines[MET_LINES];
    join(sum, lines);
    pass(lines + OWN_LINES, rooms.passed, warp);
    stores_read();
    together(group);
    if (warp > 0) take(lines, rooms.passed, warp - 1);
    put_lines(lines, OWN_LINES, warp * OWN_LINES, rooms.tile);
    if (warp > 0) return;
    UNROLL for (int i = 0; i < SHARED_LINES; i++)
        UNROLL for (int d = 0; d < CHUNKS; d++) lines[i][d][0] = lines[i][d][1] = 0.0f;
    take(lines, rooms.passed, 3);
    put_lines(lines, SHARED_LINES, 4 * OWN_LINES, rooms.tile);
}

// Makes those pixels of the tile anew that are NaN: zeros may have met an infinity.
__device__ __noinline__ void mend(result* tile, const gradient_number* dy, WHERE_ARGUMENT
                                  const float* weights, int n, int first)
{
    for (int at = threadIdx.x % 128; at < 4 * PIXELS; at += 128) {
        int channel = at / PIXELS, pixel = at % PIXELS;
        result* held = tile + channel * TILE_PITCH + pixel;
        if (first + channel < CHANNELS && IS_NAN(*held))
            *held = RESULT(met(dy, where, weights, n, first + channel, pixel / WIDTH + PAD_Y,
                               pixel % WIDTH + PAD_X));
    }
}

// Starts to store the tile, of so many channels: a warp each; dx is the first one's place.
__device__ __forceinline__ void store(const result* tile, result* dx, int channels)
{
    int channel = threadIdx.x % 128 / 32;
    if (threadIdx.x % 32 > 0 || channel >= channels) return;
    unsigned from = (unsigned)__cvta_generic_to_shared(tile + channel * TILE_PITCH);
    store_bytes(dx + channel * PIXELS, from, PIXELS * (int)sizeof(result));
    end_stores();
}
