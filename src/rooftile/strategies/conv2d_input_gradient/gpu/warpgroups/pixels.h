// From what windows bring to pixels: sums over neighbouring windows, to an image of four channels in
// shared memory, and from there to device memory.
//
// A warp has two rows of windows, a lane of each row one window: lane / 4.  Of the pixels that it
// reaches a lane has every other column, from lane / 2 % 2 on, and two channels, from lane % 2 * 2 on.

#pragma once

#include "common/formats.h"
#include "conv2d_input_gradient/gpu/brought.h"
#include "conv2d_input_gradient/gpu/warpgroups/given.h"

#define PIXELS (HEIGHT * WIDTH)
// Rows of pixels of a warp's windows, those that they reach, and of these the next warp's.
#define OWN_LINES (2 * WINDOW_HEIGHT)
#define MET_LINES (LINES + WINDOW_HEIGHT)
#define SHARED_LINES (MET_LINES - OWN_LINES)
// Columns of pixels that a row of windows reaches, in whole fours; and their pairs of a window's own.
#define FOURS (((TILE - 1) * WINDOW_WIDTH + SIDE + 3) / 4)
#define OWN_PAIRS (WINDOW_WIDTH / 2)
// Fours beyond those that a warp's lanes have.
#define BEYOND (FOURS > 8 ? FOURS - 8 : 1)
// Whether four pixels are stored together.
#define VECTORS (PAD_X % 4 == 0 && WIDTH % 4 == 0)

// Shared memory of a warpgroup: what its warps' windows bring, lines[4 warps][MET_LINES][4 FOURS
// columns][4 channels], and one more, of zeros; and an image tile[4 channels][TILE_PITCH],
// whose channels begin in banks of their own.
typedef struct {
    float* lines;
    result* tile;
} Rooms;

// Where a channel of a column lies in a line: columns change places, so that those of lanes have banks
// of their own.
#define IN_LINE(j, channel) (((j) ^ (j) / 8 % 2 * 2 ^ (j) / 16 % 2) * 4 + (channel))
#define LINE_AT(warp, i) (((warp) * MET_LINES + (i)) * FOURS * 16)

// Waits until all of a warpgroup are here.
__device__ __forceinline__ void together(int group)
{
    asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
}

// Pixels that no window reaches stay zeros.  The tile lies behind the lines.
__device__ __forceinline__ void clear(Rooms rooms)
{
    int bytes = LINE_AT(4, 1) * (int)sizeof(float) + 4 * TILE_PITCH * (int)sizeof(result);
    for (int at = threadIdx.x % 128; at < bytes / 16; at += 128)
        ((uint4*)rooms.lines)[at] = make_uint4(0, 0, 0, 0);
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
                float* to = &lines[i][d - WINDOW_WIDTH / 2][c];
                *to = fmaf(left, counts, *to);
            }
}

// Holds a warp's rows of pixels for all to read.  The last window of a row holds what lies beyond it.
__device__ __forceinline__ void hold(const line lines[MET_LINES], float* held)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
    UNROLL for (int d = 0; d < CHUNKS; d++) {
        int column = lane / 4 * WINDOW_WIDTH + 2 * d + lane / 2 % 2;
        float* to = held + LINE_AT(warp, 0) + IN_LINE(column, lane % 2 * 2);
        if (d < OWN_PAIRS || lane / 4 == TILE - 1)
            UNROLL for (int i = 0; i < MET_LINES; i++)
                *(float2*)(to + LINE_AT(0, i)) = make_float2(lines[i][d][0], lines[i][d][1]);
    }
}

// Stores four pixels of the padded image to a channel of the tile: what a row of pixels has or, where it
// is shared, two of them, times a scale.
__device__ __forceinline__ void put_four(const float* line, const float* other, int is_shared,
                                         float scale, result* plane, int i, int j)
{
    float pixel[4];
    int y = i - PAD_Y, x = j - PAD_X;
    UNROLL for (int v = 0; v < 4; v++) {
        pixel[v] = line[IN_LINE(j + v, 0)];
        if (is_shared) pixel[v] += other[IN_LINE(j + v, 0)];
        pixel[v] *= scale;
    }
    if (y < 0 || y >= HEIGHT) return;
#if VECTORS
    if (x >= 0 && x < WIDTH)
        *(result_4*)(plane + y * WIDTH + x) = RESULT_4(pixel[0], pixel[1], pixel[2], pixel[3]);
#else
    UNROLL for (int v = 0; v < 4; v++)
        if (x + v >= 0 && x + v < WIDTH) plane[y * WIDTH + x + v] = RESULT(pixel[v]);
#endif
}

// Adds up what two warps' windows bring to each row of pixels, in the tile.  A warp has its own rows,
// of which a lane has four columns of a channel, and a share of the last rows.
__device__ __forceinline__ void put_all(Rooms rooms, float scale)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32, channel = lane % 4;
    int top = warp * OWN_LINES, column = lane / 4 * 4;
    const float* own = rooms.lines + LINE_AT(warp, 0) + channel;
    const float* none = rooms.lines + LINE_AT(4, 0) + channel;
    // The first warp's rows are reached by no other's.
    const float* above = warp > 0 ? own - LINE_AT(0, SHARED_LINES) : none;
    int down = warp > 0 ? LINE_AT(0, 1) : 0;
    result* plane = rooms.tile + channel * TILE_PITCH;
    if (FOURS >= 8 || column < 4 * FOURS)
        UNROLL for (int i = 0; i < OWN_LINES; i++)
            put_four(own + LINE_AT(0, i), above + i * down, i < SHARED_LINES, scale, plane, top + i,
                     column);
    if (FOURS > 8)
        UNROLL for (int at = lane; at < OWN_LINES * BEYOND * 4; at += 32) {
            int i = at / 4 / BEYOND;
            put_four(own + LINE_AT(0, i), i < SHARED_LINES ? above + i * down : none, 1, scale, plane,
                     top + i, (8 + at / 4 % BEYOND) * 4);
        }
    const float* last = rooms.lines + LINE_AT(3, OWN_LINES) + channel;
    UNROLL for (int at = threadIdx.x % 128; at < SHARED_LINES * FOURS * 4; at += 128)
        put_four(last + LINE_AT(0, at / 4 / FOURS), none, 0, scale, plane,
                 4 * OWN_LINES + at / 4 / FOURS, at / 4 % FOURS * 4);
}

// Adds up what windows bring to each pixel of an image, times a scale, in the tile, once the warpgroup
// holds its rows of pixels.
__device__ __forceinline__ void add_up(Rooms rooms, float scale, int group)
{
    STORES_LEFT(0);
    together(group);
    put_all(rooms, scale);
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
