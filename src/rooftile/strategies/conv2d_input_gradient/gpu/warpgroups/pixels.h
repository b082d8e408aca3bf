// From windows' sums to pixels: sums over neighbouring windows, to an image of four channels in
// shared memory, and from there to device memory.
//
// A warp has two rows of windows, a lane of each row one window, lane / 4, and of the pixels that
// it reaches one channel's, lane % 4.

#pragma once

#include "common/formats.h"
#include "conv2d_input_gradient/gpu/brought.h"
#include "conv2d_input_gradient/gpu/warpgroups/given.h"

#define PIXELS (HEIGHT * WIDTH)
// Rows of pixels of a warp's windows, those that they reach, and of these the next warp's.
#define OWN_LINES (2 * WINDOW_HEIGHT)
#define MET_LINES (LINES + WINDOW_HEIGHT)
#define SHARED_LINES (MET_LINES - OWN_LINES)
// True if four pixels are stored together.
#define VECTORS (PAD_X % 4 == 0 && WIDTH % 4 == 0)

// Shared memory of a warpgroup: what its warps' windows bring to the next warp's rows of pixels,
// lines[SHARED_LINES][4 warps][4 channels][LINE_PITCH columns]; and an image tile[4 channels]
// [TILE_PITCH], whose channels begin in banks of their own.
typedef struct {
    float* lines;
    result* tile;
} Rooms;

#define LINE_AT(i, warp, channel) ((((i) * 4 + (warp)) * 4 + (channel)) * LINE_PITCH)

// Waits until all of a warpgroup are here.
__device__ __forceinline__ void together(int group)
{
    asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
}

// Pixels that no window reaches stay zeros.
__device__ __forceinline__ void clear(result* tile)
{
    for (int at = threadIdx.x % 128; at < 4 * TILE_PITCH * (int)sizeof(result) / 16; at += 128)
        ((uint4*)tile)[at] = make_uint4(0, 0, 0, 0);
}

// A row of pixels, as a lane's windows bring it, in both rows of windows.
typedef float line[SIDE];

// The rows of pixels that a warp's windows reach. The part in a window on the right is added to its
// own; the last window keeps it.
__device__ __forceinline__ void join(const float sum[LINES][2 * SIDE], line lines[MET_LINES])
{
    UNROLL for (int i = 0; i < MET_LINES; i++)
        UNROLL for (int j = 0; j < SIDE; j++) {
            int lower = i - WINDOW_HEIGHT, from = j / 2 * 4 + j % 2;
            lines[i][j] = i < LINES ? sum[i < LINES ? i : 0][from] : 0.0f;
            if (lower >= 0) lines[i][j] += sum[lower < 0 ? 0 : lower][from + 2];
        }
    // The first window has none on its left, and is given what is its own, which does not count.
    float counts = threadIdx.x % 32 < 4 ? 0.0f : 1.0f;
    UNROLL for (int j = SIDE - 1; j >= WINDOW_WIDTH; j--)
        UNROLL for (int i = 0; i < MET_LINES; i++) {
            float left = __shfl_up_sync(~0u, lines[i][j], 4);
            lines[i][j - WINDOW_WIDTH] = fmaf(left, counts, lines[i][j - WINDOW_WIDTH]);
        }
}

// Holds some columns of a row of pixels for another warp, an even number.
__device__ __forceinline__ void hold(const line pixels, int begin, int end, float* to)
{
    UNROLL for (int j = begin; j < end; j += 4)
        if (j + 2 == end) *(float2*)(to + j) = make_float2(pixels[j], pixels[j + 1]);
        else *(float4*)(to + j) = make_float4(pixels[j], pixels[j + 1], pixels[j + 2], pixels[j + 3]);
}

// Adds what was held.
__device__ __forceinline__ void add(line pixels, int begin, int end, const float* from)
{
    UNROLL for (int j = begin; j < end; j += 4)
        if (j + 2 == end) {
            float2 more = *(const float2*)(from + j);
            pixels[j] += more.x, pixels[j + 1] += more.y;
        } else {
            float4 more = *(const float4*)(from + j);
            pixels[j] += more.x, pixels[j + 1] += more.y, pixels[j + 2] += more.z, pixels[j + 3] += more.w;
        }
}

// Adds what the warp above brings to a warp's rows of pixels.  The last window of a row has more columns.
__device__ __forceinline__ void exchange(line lines[MET_LINES], float* shared)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32, is_last = lane / 4 == TILE - 1;
    float* own = shared + LINE_AT(0, warp, lane % 4) + lane / 4 * WINDOW_WIDTH;
    const float* above = own - LINE_AT(0, 1, 0);
    UNROLL for (int i = 0; i < SHARED_LINES; i++) {
        hold(lines[OWN_LINES + i], 0, WINDOW_WIDTH, own + LINE_AT(i, 0, 0));
        if (is_last) hold(lines[OWN_LINES + i], WINDOW_WIDTH, SIDE, own + LINE_AT(i, 0, 0));
    }
    // Then the last image's stores have also read the tile.
    TMA_STORE_WAIT(0);
    together(threadIdx.x / 128);
    if (warp == 0) return;
    UNROLL for (int i = 0; i < SHARED_LINES; i++) {
        add(lines[i], 0, WINDOW_WIDTH, above + LINE_AT(i, 0, 0));
        if (is_last) add(lines[i], WINDOW_WIDTH, SIDE, above + LINE_AT(i, 0, 0));
    }
}

// Stores some columns of a row of pixels to a channel of the tile, times a scale; x is the row's
// first column.
__device__ __forceinline__ void put(const line pixels, int begin, int end, float scale, result* plane,
                                    int y, int x)
{
    if (y < 0 || y >= HEIGHT) return;
    result* row = plane + y * WIDTH + x;
#if VECTORS
    UNROLL for (int j = begin; j < end; j += 4) {
        float a = pixels[j] * scale, b = pixels[j + 1] * scale;
        if (x + j < 0 || x + j >= WIDTH) continue;
        if (j + 2 == end) *(result_2*)(row + j) = RESULT_2(a, b);
        else *(result_4*)(row + j) = RESULT_4(a, b, pixels[j + 2] * scale, pixels[j + 3] * scale);
    }
#else
    UNROLL for (int j = begin; j < end; j++)
        if (x + j >= 0 && x + j < WIDTH) row[j] = RESULT(pixels[j] * scale);
#endif
}

// Stores a warp's rows of pixels to the tile; the last warp also those below them.
__device__ __forceinline__ void put_all(const line lines[MET_LINES], float scale, result* tile)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32, is_last = lane / 4 == TILE - 1;
    int y = warp * OWN_LINES - PAD_Y, x = lane / 4 * WINDOW_WIDTH - PAD_X;
    result* plane = tile + lane % 4 * TILE_PITCH;
    UNROLL for (int i = 0; i < MET_LINES; i++) {
        if (i >= OWN_LINES && warp < 3) break;
        put(lines[i], 0, WINDOW_WIDTH, scale, plane, y + i, x);
        if (is_last) put(lines[i], WINDOW_WIDTH, SIDE, scale, plane, y + i, x);
    }
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

// Starts to store the tile of `channels` channels, a warp each; dx is the first one's address.
__device__ __forceinline__ void store(const result* tile, result* dx, int channels)
{
    int channel = threadIdx.x % 128 / 32;
    if (threadIdx.x % 32 > 0 || channel >= channels) return;
    unsigned from = (unsigned)__cvta_generic_to_shared(tile + channel * TILE_PITCH);
    tma_store_1d(dx + channel * PIXELS, from, PIXELS * (int)sizeof(result));
    tma_store_commit();
}
