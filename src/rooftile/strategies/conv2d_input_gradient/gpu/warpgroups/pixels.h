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
// tile[4 channels][TILE_PITCH], whose channels begin in banks of their own; the lines of 16 bytes of
// a channel.
#define CHANNEL_LINES (PIXELS * (int)sizeof(result) / 16)
// Four pixels are stored together where none can be missing.
#define VECTORS \
    (WINDOW_WIDTH == 4 && PAD_X == 0 && WIDTH % 4 == 0 && WIDTH >= TILE * WINDOW_WIDTH)

// Shared memory of a warpgroup: lines passed[3 warps][SHARED_LINES][REACHED][2 pairs of channels] on
// their way to the next warp, and the tile.
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

// A row of pixels, as both rows of windows bring it.
__device__ __forceinline__ void line_of(const float sum[LINES][2 * SIDE], int i,
                                        float line[CHUNKS][2])
{
    UNROLL for (int d = 0; d < CHUNKS; d++)
        UNROLL for (int c = 0; c < 2; c++) {
            float upper = i < LINES ? sum[i < LINES ? i : 0][4 * d + c] : 0.0f;
            int lower = i - WINDOW_HEIGHT;
            line[d][c] = lower < 0 ? upper : sum[lower < 0 ? 0 : lower][4 * d + 2 + c];
            if (lower >= 0 && i < LINES) line[d][c] += upper;
        }
    // What lies in a window on the right is added to its own; the last window keeps it.
    UNROLL for (int d = CHUNKS - 1; d >= WINDOW_WIDTH / 2; d--)
        UNROLL for (int c = 0; c < 2; c++) {
            float left = __shfl_up_sync(~0u, line[d][c], 4);
            line[d - WINDOW_WIDTH / 2][c] += threadIdx.x % 32 < 4 ? 0.0f : left;
        }
}

// Whether a lane keeps a pair of columns of its window.
#define KEPT(d) ((d) < WINDOW_WIDTH / 2 || threadIdx.x % 32 / 4 == TILE - 1)
// Where a lane's pixels of line i lie that a warp passes on.
#define PASSED_AT(warp, i, d)                                                                      \
    ((((warp) * SHARED_LINES + (i)) * REACHED + threadIdx.x % 32 / 4 * WINDOW_WIDTH + 2 * (d) +    \
      threadIdx.x / 2 % 2) * 2 + threadIdx.x % 2)

// Stores a pixel of the padded image to the tile.
__device__ __forceinline__ void put(result* plane, int i, int j, float value)
{
    int y = i - PAD_Y, x = j - PAD_X;
    if (y >= 0 && y < HEIGHT && x >= 0 && x < WIDTH) plane[y * WIDTH + x] = RESULT(value);
}

// Stores a row of pixels to the tile.  Lanes of odd and even columns change one of their channels each,
// so that each has neighbours.
__device__ __forceinline__ void put_line(const float line[CHUNKS][2], int i, result* tile)
{
    int lane = threadIdx.x % 32, odd = lane / 2 % 2, left = lane / 4 * WINDOW_WIDTH;
    result* plane = tile + (lane % 2 * 2 + odd) * TILE_PITCH;
    float pixel[WINDOW_WIDTH];
    UNROLL for (int d = 0; d < WINDOW_WIDTH / 2; d++) {
        float other = __shfl_xor_sync(~0u, odd ? line[d][0] : line[d][1], 2);
        pixel[2 * d] = odd ? other : line[d][0];
        pixel[2 * d + 1] = odd ? line[d][1] : other;
    }
#if VECTORS
    if (i >= PAD_Y && i < HEIGHT + PAD_Y)
        *(result_4*)(plane + (i - PAD_Y) * WIDTH + left) =
            RESULT_4(pixel[0], pixel[1], pixel[2], pixel[3]);
#else
    UNROLL for (int v = 0; v < WINDOW_WIDTH; v++) put(plane, i, left + v, pixel[v]);
#endif
    if (lane / 4 < TILE - 1) return;
    UNROLL for (int d = WINDOW_WIDTH / 2; d < CHUNKS; d++)
        UNROLL for (int c = 0; c < 2; c++)
            put(tile + (lane % 2 * 2 + c) * TILE_PITCH, i, left + 2 * d + odd, line[d][c]);
}

// Adds up what windows bring to each pixel of an image, in the tile.  Says whether any is NaN or
// infinite.
__device__ __forceinline__ int add_up(const float sum[LINES][2 * SIDE], Rooms rooms, int group)
{
    int warp = threadIdx.x % 128 / 32, top = warp * OWN_LINES;
    float doubt = 0.0f, line[CHUNKS][2];
    UNROLL for (int i = OWN_LINES; i < LINES + WINDOW_HEIGHT; i++) {
        line_of(sum, i, line);
        UNROLL for (int d = 0; d < CHUNKS; d++) {
            doubt = fmaf(line[d][0], 0.0f, fmaf(line[d][1], 0.0f, doubt));
            if (warp < 3 && KEPT(d))
                rooms.passed[PASSED_AT(warp, i - OWN_LINES, d)] = make_float2(line[d][0], line[d][1]);
        }
        if (warp == 3) put_line(line, top + i, rooms.tile);
    }
    together(group);
    UNROLL for (int i = 0; i < OWN_LINES; i++) {
        line_of(sum, i, line);
        UNROLL for (int d = 0; d < CHUNKS; d++) {
            if (warp > 0 && i < SHARED_LINES && KEPT(d)) {
                float2 above = rooms.passed[PASSED_AT(warp - 1, i, d)];
                line[d][0] += above.x, line[d][1] += above.y;
            }
            doubt = fmaf(line[d][0], 0.0f, fmaf(line[d][1], 0.0f, doubt));
        }
        put_line(line, top + i, rooms.tile);
    }
    return doubt != doubt;
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

// Stores the tile; dx is its first channel's place.
__device__ __forceinline__ void store(const result* tile, result* dx, int channels)
{
    int lines = (channels < 4 ? channels : 4) * CHANNEL_LINES;
    for (int at = threadIdx.x % 128; at < lines; at += 128)
        ((uint4*)dx)[at] =
            ((const uint4*)(tile + at / CHANNEL_LINES * TILE_PITCH))[at % CHANNEL_LINES];
}
