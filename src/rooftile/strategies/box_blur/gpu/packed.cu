// packed: two columns' sums in a word, from the row's bytes to the quotients.
//
// In `running` threads hand sums to their neighbours through shared memory, and all of a block wait
// for each other in every row. Here a thread also keeps the sums of the columns that its windows
// reach to either side: it does not wait, and a word of four bytes is added to two words of sums by
// six instructions, subtraction of the row that leaves included. What it removes: barriers, shared
// memory, half of the instructions, and divisions at edges. What it costs: columns at spans' ends
// are summed by two threads.
//
// No half of a word ever exceeds its 16 bits, nor is it below zero. Sums of columns are arranged as
// bytes of a word are: columns 0 and 2 in one word, 1 and 3 in the next. Sums of windows are of
// columns half a span apart, so that both halves move on by the same addition.
//
// A window of d pixels is divided by a multiplication: with m = ceil(2^24 / d) the quotient is
// (sum m) >> 24, exactly, as sum <= 255 d and 255 d^2 < 2^24.  Rows that are clipped have an m of
// their own.  Where columns are clipped, a float divides: half of one is added to the sum, so that
// no quotient is nearer to a whole number than 1 / 2d, far more than the float's error.
//
// image[height][width][CHANNELS], blurred[height][width][CHANNELS].
// Grid: x over blocks of spans of SPAN bytes of a row, y over bands of ROWS rows.
// Block: x over THREADS spans.

#include "common/bytes.h"

#define REACH (RADIUS * CHANNELS)
#define HALO (REACH > 8 ? 16 : 8)
#define HALF (SPAN / 2)
#define WORDS ((SPAN + 2 * HALO) / 4)
#define SIDE (2 * RADIUS + 1)
// Fewer would do, but with this number the compiler spills nothing.
#define RESIDENT_THREADS 512

#ifdef __OPENCL_VERSION__
#define PREFETCH(from)
#else
#define PREFETCH(from) asm volatile("prefetch.global.L2 [%0];" ::"l"(from))
#endif

// Two or four words, or zeros.
__device__ __forceinline__ void two(unsigned* words, const GLOBAL unsigned char* from, int inside)
{
    words[0] = words[1] = 0;
    if (!inside) return;
    uint2 loaded = *(const GLOBAL uint2*)from;
    words[0] = loaded.x;
    words[1] = loaded.y;
}

__device__ __forceinline__ void four(unsigned* words, const GLOBAL unsigned char* from, int inside)
{
    words[0] = words[1] = words[2] = words[3] = 0;
    if (!inside) return;
    uint4 loaded = *(const GLOBAL uint4*)from;
    words[0] = loaded.x;
    words[1] = loaded.y;
    words[2] = loaded.z;
    words[3] = loaded.w;
}

// The words of a row around the span that begins at `from`, its column `at`; zeros outside of the
// picture.  Rows have a multiple of SPAN bytes.
__device__ __forceinline__ void load(unsigned* words, const GLOBAL unsigned char* from, int inside,
                                     int at, int columns)
{
    UNROLL
    for (int w = HALO / 4; w < WORDS - HALO / 4; w += 4)
        four(words + w, from + 4 * w - HALO, inside);
    int before = inside && at > 0, behind = inside && at + SPAN < columns;
#if HALO == 8
    two(words, from - HALO, before);
    two(words + WORDS - 2, from + SPAN, behind);
#else
    four(words, from - HALO, before);
    four(words + WORDS - 4, from + SPAN, behind);
#endif
}

// Bytes 0 and 2 of a word, and bytes 1 and 3.
__device__ __forceinline__ unsigned even(unsigned word) { return word & 0x00ff00ff; }
__device__ __forceinline__ unsigned odd(unsigned word) { return picked(word, 0, 0x4341); }

// Number of the rows around one that are inside.
__device__ __forceinline__ int clipped(int row, int height)
{
    int first = row < RADIUS ? 0 : row - RADIUS;
    int last = row + RADIUS < height ? row + RADIUS : height - 1;
    return last - first + 1;
}

// The sums of columns k and k + HALF, of those that the words begin with.
__device__ __forceinline__ unsigned apart(const unsigned* sums, int k)
{
    int low = k / 4 * 2 + k % 2, high = low + HALF / 2;
    return picked(sums[low], sums[high], k % 4 < 2 ? 0x5410 : 0x7632);
}

// The sums of windows k and k + HALF of the span.
__device__ __forceinline__ void across(const unsigned* sums, unsigned* windows)
{
    UNROLL
    for (int k = 0; k < HALF; k++) {
        if (k < CHANNELS) {
            windows[k] = 0;
            UNROLL
            for (int j = -RADIUS; j <= RADIUS; j++)
                windows[k] += apart(sums, HALO + k + j * CHANNELS);
        } else {
            // The window before in this channel, moved on by a pixel.
            windows[k] = windows[k - CHANNELS] + apart(sums, HALO + k + REACH) -
                         apart(sums, HALO + k - REACH - CHANNELS);
        }
    }
}

// The sum of window k of the span.
__device__ __forceinline__ unsigned one(const unsigned* windows, int k)
{
    return k < HALF ? windows[k] & 0xffff : windows[k - HALF] >> 16;
}

// The highest bytes of four products.
__device__ __forceinline__ unsigned divided(const unsigned* windows, int k, unsigned scale)
{
    return picked(picked(one(windows, k) * scale, one(windows, k + 1) * scale, 0x0073),
                  picked(one(windows, k + 2) * scale, one(windows, k + 3) * scale, 0x0073), 0x5410);
}

// Put the quotient of a window of fewer columns in the place of byte k.
__device__ __forceinline__ void corrected(unsigned* made, const unsigned* windows, int k,
                                          float of_rows, int pixels)
{
    unsigned quotient = ((float)one(windows, k) + 0.5f) * (of_rows * (1.0f / pixels));
    made[k / 4] = (made[k / 4] & ~(0xffu << 8 * (k % 4))) | quotient << 8 * (k % 4);
}

// Store the words of a span.
__device__ __forceinline__ void put(GLOBAL unsigned char* to, const unsigned* words)
{
    UNROLL
    for (int w = 0; w < SPAN / 4; w += 4) {
        uint4 stored;
        stored.x = words[w];
        stored.y = words[w + 1];
        stored.z = words[w + 2];
        stored.w = words[w + 3];
        *(GLOBAL uint4*)(to + 4 * w) = stored;
    }
}

__global__ void RESIDENT_BOUNDS(THREADS, RESIDENT_THREADS / THREADS)
packed(const GLOBAL unsigned char* __restrict__ image, GLOBAL unsigned char* __restrict__ blurred,
       int height, int width)
{
    int columns = width * CHANNELS, top = blockIdx.y * ROWS;
    int at = (blockIdx.x * THREADS + threadIdx.x) * SPAN;
    if (at >= columns) return;

    unsigned sums[2 * WORDS], entering[WORDS], leaving[WORDS];
    UNROLL
    for (int w = 0; w < 2 * WORDS; w++) sums[w] = 0;
    int first = top < RADIUS ? 0 : top - RADIUS;
    const GLOBAL unsigned char* from = image + (int64)first * columns + at;
#if AHEAD
    for (int row = first; row < top + RADIUS + AHEAD && row < height; row++)
        PREFETCH(from + (int64)(row - first) * columns);
#endif
    UNROLL_BY(4)
    for (int row = first; row < top + RADIUS; row++, from += columns) {
        load(entering, from, row < height, at, columns);
        UNROLL
        for (int w = 0; w < WORDS; w++) {
            sums[2 * w] += even(entering[w]);
            sums[2 * w + 1] += odd(entering[w]);
        }
    }
    // Nothing leaves before the first window.
    UNROLL
    for (int w = 0; w < WORDS; w++) leaving[w] = 0;
    load(entering, from, top + RADIUS < height, at, columns);

    GLOBAL unsigned char* to = blurred + (int64)top * columns + at;
    const GLOBAL unsigned char* left = image + (int64)(top - RADIUS) * columns + at;
    int end = top + ROWS < height ? top + ROWS : height, rows = 0;
    unsigned scale = 0;
    float of_rows = 0.0f;
    ROLLED
    for (int row = top; row < end; row++, to += columns, left += columns) {
        UNROLL
        for (int w = 0; w < WORDS; w++) {
            sums[2 * w] += even(entering[w]) - even(leaving[w]);
            sums[2 * w + 1] += odd(entering[w]) - odd(leaving[w]);
        }
        // The next row's bytes are under way while this one's windows are summed.
        from += columns;
        int more = row + 1 < end;
        load(entering, from, more && row + 1 + RADIUS < height, at, columns);
        load(leaving, left, more && row >= RADIUS, at, columns);
#if AHEAD
        if (row + AHEAD < end && row + AHEAD + RADIUS < height)
            PREFETCH(from + (int64)(AHEAD - 1) * columns);
#endif
        if (clipped(row, height) != rows) {
            rows = clipped(row, height);
            scale = ((1 << 24) + rows * SIDE - 1) / (rows * SIDE);
            of_rows = 1.0f / rows;
        }
        unsigned windows[HALF], made[SPAN / 4];
        across(sums, windows);
        UNROLL
        for (int w = 0; w < SPAN / 4; w++) made[w] = divided(windows, 4 * w, scale);
        if (at == 0) {
            UNROLL
            for (int k = 0; k < REACH; k++)
                corrected(made, windows, k, of_rows, RADIUS + 1 + k / CHANNELS);
        }
        if (at + SPAN == columns) {
            UNROLL
            for (int k = 0; k < REACH; k++)
                corrected(made, windows, SPAN - 1 - k, of_rows, RADIUS + 1 + k / CHANNELS);
        }
        put(to, made);
    }
}
