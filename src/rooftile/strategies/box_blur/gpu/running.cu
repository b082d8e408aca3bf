// Rung 3, running: sums that move down the picture by a row that enters and one that leaves.
//
// In `tiled` every byte is added once for each window that it is in.  Here a thread keeps the sums
// of four columns over the rows of the window.  In each row it adds four bytes and subtracts four,
// hands the sums to its neighbours through shared memory, and adds those of the window's columns;
// the next column's sum differs by two of them.  What it removes: all but a few additions a byte,
// and narrow accesses.
//
// Where 16 bits hold the sum of a window (PAIRED), a word holds two of them: the lower half of a
// row of the upper band, the upper half of the same row of the band below.  Additions are of words,
// and no half ever exceeds its 16 bits, nor is it below zero.
//
// A whole window is divided by a multiplication: with m = ceil(2^24 / d) the quotient is
// (sum m) >> 24, exactly, as sum <= 255 d and 255 d^2 < 2^24.
//
// The first and the last HALO columns of a block belong to its neighbours' results.
//
// image[height][width][CHANNELS], blurred[height][width][CHANNELS].
// Grid: x over blocks of OUTPUTS bytes of a row, y over BANDS bands of ROWS rows.
// Block: x over THREADS words of a row.

#include "common/bytes.h"

#define BANDS (1 + PAIRED)
#define REACH (RADIUS * CHANNELS)
#define HALO ((REACH + 3) / 4 * 4)
#define OUTPUTS (4 * THREADS - 2 * HALO)
#define WHOLE ((2 * RADIUS + 1) * (2 * RADIUS + 1))

// Four bytes of a row from column `at` on, which lie at `from`; zeros outside of the picture.
__device__ __forceinline__ unsigned four(const GLOBAL unsigned char* from, int row, int at,
                                         int height, int columns)
{
    unsigned word = 0;
#if ALIGNED
    // A word is inside or outside as a whole; a number below zero is a large one without its sign.
    if ((unsigned)row < (unsigned)height && (unsigned)at < (unsigned)columns)
        word = *(const GLOBAL unsigned*)from;
#else
    for (int b = 0; b < 4; b++)
        if (row >= 0 && row < height && at + b >= 0 && at + b < columns)
            word |= (unsigned)from[b] << 8 * b;
#endif
    return word;
}

// Byte k of each band's word, as a term of the sums.
__device__ __forceinline__ unsigned term(const unsigned* words, int k)
{
#if PAIRED
    return picked(words[0], words[1], 0x0400 + 0x0101 * k) & 0x00ff00ff;
#else
    return words[0] >> 8 * k & 0xff;
#endif
}

// How many of the indices around one lie inside.
__device__ __forceinline__ int clipped(int at, int size)
{
    int first = at < RADIUS ? 0 : at - RADIUS;
    int last = at + RADIUS < size ? at + RADIUS : size - 1;
    return last - first + 1;
}

// Four quotients of whole windows; `shift` is 16 for the band below.
__device__ __forceinline__ unsigned divided(const unsigned* sums, int shift)
{
#if PAIRED
    unsigned products[4];
    UNROLL
    for (int k = 0; k < 4; k++)
        products[k] = (sums[k] >> shift & 0xffff) * (((1 << 24) + WHOLE - 1) / WHOLE);
    // The quotients are the highest bytes.
    return picked(picked(products[0], products[1], 0x0073),
                  picked(products[2], products[3], 0x0073), 0x5410);
#else
    return sums[0] / WHOLE | sums[1] / WHOLE << 8 | sums[2] / WHOLE << 16 | sums[3] / WHOLE << 24;
#endif
}

// Four quotients where windows are clipped; beyond the picture, zeros.
__device__ __forceinline__ unsigned divided_at_edges(const unsigned* sums, int shift, int row,
                                                     int at, int height, int width)
{
    unsigned made = 0;
    for (int k = 0; k < 4; k++) {
        int column = (at + k) / CHANNELS;
        if (column >= width) break;
        unsigned sum = PAIRED ? sums[k] >> shift & 0xffff : sums[k];
        made |= sum / (unsigned)(clipped(row, height) * clipped(column, width)) << 8 * k;
    }
    return made;
}

// Store four bytes of a row from column `at` on, at `to`; none beyond its end.
__device__ __forceinline__ void put(GLOBAL unsigned char* to, int at, int columns, unsigned word)
{
#if ALIGNED
    *(GLOBAL unsigned*)to = word;
#else
    for (int b = 0; b < 4; b++)
        if (at + b < columns) to[b] = word >> 8 * b & 0xff;
#endif
}

// The sums of four neighbouring windows from those of columns, the thread's own at `line`.
__device__ __forceinline__ void across(const SHARED uint4* line, unsigned* windows)
{
    unsigned near[2 * HALO + 4];
    UNROLL
    for (int v = 0; v < HALO / 2 + 1; v++) {
        uint4 quad = line[v - HALO / 4];
        near[4 * v] = quad.x;
        near[4 * v + 1] = quad.y;
        near[4 * v + 2] = quad.z;
        near[4 * v + 3] = quad.w;
    }
    UNROLL
    for (int k = 0; k < 4; k++) {
        if (k >= CHANNELS) {
            // The window before in this channel, moved on by a pixel.
            windows[k] = windows[k - CHANNELS] + near[HALO + k + REACH];
            windows[k] -= near[HALO + k - REACH - CHANNELS];
        } else {
            windows[k] = 0;
            UNROLL
            for (int j = -RADIUS; j <= RADIUS; j++) windows[k] += near[HALO + k + j * CHANNELS];
        }
    }
}

__global__ void LAUNCH_BOUNDS(THREADS)
running(const GLOBAL unsigned char* __restrict__ image, GLOBAL unsigned char* __restrict__ blurred,
        int height, int width)
{
    // Two lines in turn, so that a row needs one barrier.
    __shared__ uint4 lines[2][THREADS];
    int columns = width * CHANNELS, top = blockIdx.y * (BANDS * ROWS);
    int at = blockIdx.x * OUTPUTS - HALO + 4 * threadIdx.x;
    int has_results = threadIdx.x >= HALO / 4 && threadIdx.x < THREADS - HALO / 4 && at < columns;
    int whole_columns = at >= REACH && at + 3 + REACH < columns;

    // The window of the row above the first: what leaves it first is among what is added here.
    unsigned sums[4] = {0, 0, 0, 0}, entering[BANDS], leaving[BANDS];
    const GLOBAL unsigned char* entering_at[BANDS];
    const GLOBAL unsigned char* leaving_at[BANDS];
    UNROLL
    for (int b = 0; b < BANDS; b++) {
        int64 first = (int64)(top + b * ROWS - RADIUS - 1) * columns + at;
        entering_at[b] = leaving_at[b] = image + first;
    }
    for (int row = top - RADIUS - 1; row < top + RADIUS; row++) {
        UNROLL
        for (int b = 0; b < BANDS; b++) {
            entering[b] = four(entering_at[b], row + b * ROWS, at, height, columns);
            entering_at[b] += columns;
        }
        UNROLL
        for (int k = 0; k < 4; k++) sums[k] += term(entering, k);
    }
    UNROLL
    for (int b = 0; b < BANDS; b++) {
        int row = top + b * ROWS;
        entering[b] = four(entering_at[b], row + RADIUS, at, height, columns);
        leaving[b] = four(leaving_at[b], row - RADIUS - 1, at, height, columns);
    }

    GLOBAL unsigned char* to = blurred + (int64)top * columns + at;
    for (int r = 0; r < ROWS && top + r < height; r++, to += columns) {
        UNROLL
        for (int k = 0; k < 4; k++) sums[k] += term(entering, k) - term(leaving, k);
        // The next row's bytes are under way while this one's sums are made.
        UNROLL
        for (int b = 0; b < BANDS; b++) {
            int next = top + b * ROWS + r + 1;
            entering[b] = four(entering_at[b] += columns, next + RADIUS, at, height, columns);
            leaving[b] = four(leaving_at[b] += columns, next - RADIUS - 1, at, height, columns);
        }
        SHARED uint4* own = lines[r % 2] + threadIdx.x;
        own->x = sums[0];
        own->y = sums[1];
        own->z = sums[2];
        own->w = sums[3];
        __syncthreads();
        if (!has_results) continue;
        unsigned windows[4];
        across(own, windows);
        UNROLL
        for (int b = 0; b < BANDS; b++) {
            int row = top + b * ROWS + r;
            if (row >= height) continue;
            int whole = whole_columns && row >= RADIUS && row + RADIUS < height;
            unsigned made = whole ? divided(windows, 16 * b)
                                  : divided_at_edges(windows, 16 * b, row, at, height, width);
            put(to + (int64)b * ROWS * columns, at, columns, made);
        }
    }
}
