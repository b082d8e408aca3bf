// running: sums that move down the picture by a row that enters and one that leaves.
//
// In `tiled` every byte is added once for each window that it is in.  Here a thread keeps the sums
// of four or eight columns over the rows of the window.  In each row it adds a byte to each and
// subtracts one, hands the sums to its neighbours through shared memory, and adds those of the
// window's columns; the next column's sum differs by two of them.  What it removes: all but a few
// additions a byte, and narrow accesses.
//
// Where 16 bits hold the sum of a window (PAIRED), a word holds two sums: the lower half of a row
// of the upper band, the upper half of the same row of the band below. Additions are of words, and
// no half ever exceeds its 16 bits, nor is it below zero.
//
// A whole window is divided by a multiplication: with m = ceil(2^24 / d) the quotient is
// (sum m) >> 24, exactly, as sum <= 255 d and 255 d^2 < 2^24.
//
// The first and the last HALO columns of a block belong to its neighbours' results.
//
// image[height][width][CHANNELS], blurred[height][width][CHANNELS].
// Grid: x over blocks of OUTPUTS bytes of a row, y over BANDS bands of ROWS rows.
// Block: x over THREADS spans of WORDS words of a row.

#include "common/bytes.h"

#define BANDS (1 + PAIRED)
#define SPAN (4 * WORDS)
#define REACH (RADIUS * CHANNELS)
#define HALO ((REACH + SPAN - 1) / SPAN * SPAN)
#define OUTPUTS (SPAN * THREADS - 2 * HALO)
// Fewer would do, but with this number the compiler spills nothing.
#define RESIDENT_THREADS 512
#define WHOLE ((2 * RADIUS + 1) * (2 * RADIUS + 1))

#if WORDS == 2
typedef uint2 span;
#else
typedef unsigned span;
#endif

// The words of a row from column `at` on, which lie at `from`; zeros outside of the picture.
__device__ __forceinline__ void load(unsigned* words, const GLOBAL unsigned char* from, int row,
                                     int at, int height, int columns)
{
    UNROLL
    for (int w = 0; w < WORDS; w++) words[w] = 0;
#if ALIGNED
    // A span is inside or outside as a whole; a number below zero is a large one without its sign.
    if ((unsigned)row < (unsigned)height && (unsigned)at < (unsigned)columns) {
        span loaded = *(const GLOBAL span*)from;
#if WORDS == 2
        words[0] = loaded.x;
        words[1] = loaded.y;
#else
        words[0] = loaded;
#endif
    }
#else
    UNROLL
    for (int b = 0; b < SPAN; b++)
        if (row >= 0 && row < height && at + b >= 0 && at + b < columns)
            words[b / 4] |= (unsigned)from[b] << 8 * (b % 4);
#endif
}

// Byte k of each band's words, as a term of the sums.
__device__ __forceinline__ unsigned term(const unsigned* words, int k)
{
#if PAIRED
    return picked(words[k / 4], words[WORDS + k / 4], 0x0400 + 0x0101 * (k % 4)) & 0x00ff00ff;
#else
    return words[k / 4] >> 8 * (k % 4) & 0xff;
#endif
}

// Number of the indices around one that are inside.
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

// Store the words of a row from column `at` on, at `to`; nothing beyond its end.
__device__ __forceinline__ void put(GLOBAL unsigned char* to, int at, int columns,
                                    const unsigned* words)
{
#if ALIGNED
    span stored;
#if WORDS == 2
    stored.x = words[0];
    stored.y = words[1];
#else
    stored = words[0];
#endif
    *(GLOBAL span*)to = stored;
#else
    UNROLL
    for (int b = 0; b < SPAN; b++)
        if (at + b < columns) to[b] = words[b / 4] >> 8 * (b % 4) & 0xff;
#endif
}

// The sums of neighbouring windows from the columns' sums. A line is [WORDS][THREADS] quads of
// columns, so that neighbouring threads read neighbouring quads; the thread's own begin at `line`.
__device__ __forceinline__ void across(const SHARED uint4* line, unsigned* windows)
{
    unsigned near[2 * HALO + SPAN];
    UNROLL
    for (int v = 0; v < (2 * HALO + SPAN) / 4; v++) {
        uint4 quad = line[v % WORDS * THREADS + v / WORDS - HALO / SPAN];
        near[4 * v] = quad.x;
        near[4 * v + 1] = quad.y;
        near[4 * v + 2] = quad.z;
        near[4 * v + 3] = quad.w;
    }
    UNROLL
    for (int k = 0; k < SPAN; k++) {
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

__global__ void RESIDENT_BOUNDS(THREADS, RESIDENT_THREADS / THREADS)
running(const GLOBAL unsigned char* __restrict__ image, GLOBAL unsigned char* __restrict__ blurred,
        int height, int width)
{
    // Two lines in turn, so that a row needs one barrier.
    __shared__ uint4 lines[2][WORDS * THREADS];
    int columns = width * CHANNELS, top = blockIdx.y * (BANDS * ROWS);
    int at = blockIdx.x * OUTPUTS - HALO + SPAN * threadIdx.x;
    int has_results = threadIdx.x >= HALO / SPAN && threadIdx.x < THREADS - HALO / SPAN;
    int whole_columns = at >= REACH && at + SPAN - 1 + REACH < columns;

    // The window of the row above the first: what leaves it first is among what is added here.
    unsigned sums[SPAN], entering[BANDS * WORDS], leaving[BANDS * WORDS];
    const GLOBAL unsigned char* entering_at[BANDS];
    const GLOBAL unsigned char* leaving_at[BANDS];
    UNROLL
    for (int b = 0; b < BANDS; b++) {
        int64 first = (int64)(top + b * ROWS - RADIUS - 1) * columns + at;
        entering_at[b] = leaving_at[b] = image + first;
        load(leaving + b * WORDS, image + first, top + b * ROWS - RADIUS - 1, at, height, columns);
    }
    UNROLL
    for (int k = 0; k < SPAN; k++) sums[k] = term(leaving, k);
    for (int row = top - RADIUS; row <= top + RADIUS; row++) {
        UNROLL
        for (int b = 0; b < BANDS; b++)
            load(entering + b * WORDS, entering_at[b] += columns, row + b * ROWS, at, height,
                 columns);
        // The last row enters below.
        if (row == top + RADIUS) break;
        UNROLL
        for (int k = 0; k < SPAN; k++) sums[k] += term(entering, k);
    }

    GLOBAL unsigned char* to = blurred + (int64)top * columns + at;
    for (int r = 0; r < ROWS && top + r < height; r++, to += columns) {
        UNROLL
        for (int k = 0; k < SPAN; k++) sums[k] += term(entering, k) - term(leaving, k);
        // The next row's bytes are under way while this one's sums are made.
        UNROLL
        for (int b = 0; b < BANDS; b++) {
            int next = top + b * ROWS + r + 1;
            load(entering + b * WORDS, entering_at[b] += columns, next + RADIUS, at, height,
                 columns);
            load(leaving + b * WORDS, leaving_at[b] += columns, next - RADIUS - 1, at, height,
                 columns);
        }
        SHARED uint4* own = lines[r % 2] + threadIdx.x;
        UNROLL
        for (int w = 0; w < WORDS; w++) {
            own[w * THREADS].x = sums[4 * w];
            own[w * THREADS].y = sums[4 * w + 1];
            own[w * THREADS].z = sums[4 * w + 2];
            own[w * THREADS].w = sums[4 * w + 3];
        }
        __syncthreads();
        if (!has_results || at >= columns) continue;
        unsigned windows[SPAN], made[WORDS];
        across(own, windows);
        UNROLL
        for (int b = 0; b < BANDS; b++) {
            int row = top + b * ROWS + r;
            if (row >= height) continue;
            int whole = whole_columns && row >= RADIUS && row + RADIUS < height;
            UNROLL
            for (int w = 0; w < WORDS; w++)
                made[w] = whole ? divided(windows + 4 * w, 16 * b)
                                : divided_at_edges(windows + 4 * w, 16 * b, row, at + 4 * w, height,
                                                   width);
            put(to + (int64)b * ROWS * columns, at, columns, made);
        }
    }
}
