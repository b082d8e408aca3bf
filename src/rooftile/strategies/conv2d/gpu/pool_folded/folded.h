// Common parts of texts that fold the pool into columns of a matrix product: sizes, and the copies
// of a band. ELEMENT_BYTES is 2 where a band is kept in 16 bits, 4 where it is kept in float32.
//
// A fold's window is two by two. A pool's window has WINDOWS_DOWN x WINDOWS_RIGHT of them,
// FOLD_COLUMNS across. A band is BAND_ROWS rows of results. An instruction multiplies sixteen
// windows, two for each lane: eight of the band's upper half, and the eight below them of its lower
// half, or adjacent ones (BESIDE), which belong to the same window of the pool. A strip is eight
// lanes' windows wide. A task is STEPS rows of a strip's windows, a row a step.

#pragma once

#include "conv2d/gpu/pool_folded/sizes.h"
#include "common/formats.h"
#if ELEMENT_BYTES == 2
#include "common/narrow.h"
#endif
#include "common/tf32.h"

#define WINDOWS_DOWN (POOL_HEIGHT / 2)
#define WINDOWS_RIGHT (POOL_WIDTH / 2)
#define FOLD_COLUMNS (COLUMNS * WINDOWS_RIGHT)
#define BANDS ((ROWS + BAND_ROWS - 1) / BAND_ROWS)
#if BESIDE
#define HALVES 1
#define OTHER_WINDOW 2
#else
#define HALVES 2
#define OTHER_WINDOW (2 * HALF_STEPS * PITCH)
#endif
#define STRIP_COLUMNS (16 / HALVES)
#define STRIPS ((FOLD_COLUMNS + STRIP_COLUMNS - 1) / STRIP_COLUMNS)
#define HALF_STEPS (HALF_ROWS * WINDOWS_DOWN)
#define STEPS (HALF_STEPS / SEGMENTS)
#define THREADS (32 * WARPS)
#define BAND_STRIDE (BAND_ROWS * POOL_HEIGHT)
#define BAND_SIZE (CHANNELS * TILE_SIZE)

// The threads that share a band: the block or, with OWN_BANDS, each of its warpgroups.
#if OWN_BANDS
#define TEAM 128
#define MEMBER (threadIdx.x % 128)
#else
#define TEAM THREADS
#define MEMBER threadIdx.x
#endif

// A warpgroup takes all maps, and its warps share out tasks, four at a time.  A warp on its own
// takes one group of maps.
#if WGMMA
#define GROUPS MAP_GROUPS
#define TASKS ((STRIPS * SEGMENTS + 3) / 4 * 4)
#define WORKERS (TEAM / 32)
#else
#define GROUPS 1
#define TASKS (STRIPS * SEGMENTS)
#define WORKERS (WARPS / MAP_GROUPS)
#endif
#define SUMS (8 * GROUPS)

#if ELEMENT_BYTES == 2
typedef narrow element;
#define ELEMENT(value) NARROW(value)
#else
typedef float element;
#define ELEMENT(value) (value)
#ifndef VALUE
#define VALUE(x) tf32(x)
#endif
#endif

// Bytes of a copy.
#if PIECE_BYTES == 16
typedef uint4 piece;
#elif PIECE_BYTES == 8
typedef uint2 piece;
#else
typedef unsigned piece;
#endif
#define PIECE (PIECE_BYTES / (int)sizeof(given))

// The distance of a band's results of two maps, in `out` or, with STAGED, in shared memory.
#if STAGED
#define MAP_PITCH STAGED_PITCH
#else
#define MAP_PITCH (ROWS * COLUMNS)
#endif

// Waits until all of a team are here.
__device__ __forceinline__ void meet()
{
#if OWN_BANDS
    asm volatile("bar.sync %0, 128;" ::"r"(1 + threadIdx.x / 128) : "memory");
#else
    __syncthreads();
#endif
}

#if STAGED
// Bytes of a store of a band.
#if STORED_BYTES == 16
typedef uint4 stored;
#elif STORED_BYTES == 8
typedef uint2 stored;
#elif STORED_BYTES == 4
typedef unsigned stored;
#elif STORED_BYTES == 2
typedef unsigned short stored;
#else
typedef char stored;
#endif

// Stores a band's numbers, of this size in bytes, from shared memory: contiguous in each map, here
// as there.
__device__ __forceinline__ void store_band(const void* staged, void* out, const int bytes, int band)
{
    int top = band % BANDS * BAND_ROWS;
    const int whole = ROWS % BAND_ROWS == 0, most = BAND_ROWS * COLUMNS * bytes / STORED_BYTES;
    int pieces =
        whole || ROWS - top > BAND_ROWS ? most : (ROWS - top) * COLUMNS * bytes / STORED_BYTES;
    char* first = (char*)out + ((size_t)(band / BANDS) * RESULT_SIZE + top * COLUMNS) * bytes;
    UNROLL for (int e = 0; e < MAPS * most; e += TEAM) {
        int map = (e + (int)MEMBER) / most, at = (e + (int)MEMBER) % most;
        if ((e + TEAM <= MAPS * most || map < MAPS) && (whole || at < pieces))
            ((stored*)first)[map * (ROWS * COLUMNS * bytes / STORED_BYTES) + at] =
                ((const stored*)staged)[map * (MAP_PITCH * bytes / STORED_BYTES) + at];
    }
}

#endif
// Start to copy a band of all channels, without ghost cells: contiguous, here as there.
__device__ __forceinline__ void start_band(const given* x, int band, given* to)
{
    int top = band % BANDS * BAND_STRIDE;
    const int whole = (BANDS - 1) * BAND_STRIDE + TILE_ROWS <= HEIGHT;
    int rows = whole || HEIGHT - top > TILE_ROWS ? TILE_ROWS : HEIGHT - top;
    const given* image = x + (size_t)(band / BANDS) * IMAGE_SIZE + top * WIDTH;
    UNROLL for (int c = 0; c < CHANNELS; c++) {
        const piece* from = (const piece*)(image + c * HEIGHT * WIDTH) + MEMBER;
        piece* piece_to = (piece*)(to + c * TILE_SIZE) + MEMBER;
        const int most = (TILE_ROWS * WIDTH + PIECE - 1) / PIECE;
        int pieces = (rows * WIDTH + PIECE - 1) / PIECE - (int)MEMBER;
        UNROLL for (int e = 0; e < most; e += TEAM)
            if ((whole && e + TEAM <= most) || e < pieces)
                COPY_ASYNC(piece, piece_to + e, from + e);
    }
}

// The same for bands with ghost cells or of odd widths, which are converted on the way.
__device__ __forceinline__ void fill(const given* x, int band, element* tile)
{
    const given* image = x + (size_t)(band / BANDS) * IMAGE_SIZE;
    int top = band % BANDS * BAND_STRIDE - PAD_Y;
    for (int e = MEMBER; e < CHANNELS * TILE_ROWS * PITCH; e += TEAM) {
        int c = e / (TILE_ROWS * PITCH), i = e / PITCH % TILE_ROWS, j = e % PITCH - PAD_X;
        bool inside = top + i >= 0 && top + i < HEIGHT && j >= 0 && j < WIDTH;
        float value = inside ? VALUE(image[(c * HEIGHT + top + i) * WIDTH + j]) : 0.0f;
        tile[c * TILE_SIZE + i * PITCH + j + PAD_X] = ELEMENT(value);
    }
}

// Waits for a thread's own share of a band that is kept as it is given.  With two BUFFERS its copies
// are already under way.
#ifdef BUFFERS
__device__ __forceinline__ void await_band(const given* x, int band, element* tile)
{
    if (BUFFERS == 1) meet();
    if (!FLAT)
        fill(x, band, tile);
    else if (BUFFERS == 1)
        start_band(x, band, tile);
    COPIES_DONE();
}

#endif
