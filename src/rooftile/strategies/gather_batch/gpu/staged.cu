// staged: a block makes a channel of an image, or a part of one, of an old image in shared memory.
//
// What it removes: of `naive` the four loads of each new pixel, and two thirds of its products, where
// images are resized.
//
// An image is mirrored or not and moved, zeros behind it; resized bilinearly, by two weights a row
// and two a column; and standardised.  FLOATS says that images are numbers already, which are
// neither resized nor standardised.
//
// given[][CHANNELS][OLD_HEIGHT][OLD_WIDTH], labels[][WORDS] (words of 32 bits), order[] (which image a
// place of the epoch has), variation[] (of a place of the epoch: rows moved, columns moved << 8,
// mirrored << 16), step[1], places[HEIGHT + WIDTH] (the first of the two rows or columns),
// shares[HEIGHT + WIDTH][2] (their weights), scales[CHANNELS][2] (factor, and what is taken off);
// x[][CHANNELS][HEIGHT][WIDTH] in float or, with OUT_NARROW, in the cores' own type; chosen[][WORDS].
// STAGED: shared memory holds the old image, and its rows resized along columns, which are shared by
// some new rows each: what is left for a new pixel is two products.  Old images that it does not hold,
// and those that are not resized, are read from global memory.
// Grid: x over the channels of the images; y over PARTS of one.
// Block: x over 32 columns, y over ROWS rows.

#include "common/formats.h"
#include "common/pipelines/pdl.h"
#include "moved.h"

#define ROWS 8
#define THREADS (32 * ROWS)
#define RESIZED (!FLOATS && (OLD_HEIGHT != HEIGHT || OLD_WIDTH != WIDTH))
#if STAGED
// Adjacent columns in pairs.
#if WIDTH % 2 == 0
#define BESIDE 2
#else
#define BESIDE 1
#endif
// Threads have such a pair each, or a few; WALKERS of them share out its rows.
#define ACROSS (WIDTH / BESIDE)
#define WALKERS (ACROSS < THREADS ? THREADS / ACROSS : 1)

// Resizes the rows first to last of the moved image along their columns, to across[][WIDTH].
__device__ __forceinline__ void resize_rows(const GLOBAL given_number* plane, int variation, int first,
                                            int last, const GLOBAL int* left_of,
                                            const GLOBAL float* shares, SHARED float* old,
                                            SHARED float* across, int thread)
{
    UNROLL_BY(4) for (int at = thread; at < (last - first + 1) * OLD_WIDTH; at += THREADS)
        old[at] = moved(plane, variation, first + at / OLD_WIDTH, at % OLD_WIDTH);
    __syncthreads();
    for (int at = thread; at < ACROSS * WALKERS; at += THREADS) {
        int j = at % ACROSS * BESIDE, left[BESIDE], right[BESIDE];
        float near[BESIDE], far[BESIDE];
        UNROLL for (int k = 0; k < BESIDE; k++) {
            left[k] = left_of[j + k], right[k] = left[k] + 1 < OLD_WIDTH ? left[k] + 1 : left[k];
            near[k] = shares[2 * (j + k)], far[k] = shares[2 * (j + k) + 1];
        }
        UNROLL_BY(2) for (int i = at / ACROSS; i <= last - first; i += WALKERS) {
            const SHARED float* row = old + i * OLD_WIDTH;
            UNROLL for (int k = 0; k < BESIDE; k++)
                across[i * WIDTH + j + k] = near[k] * row[left[k]] + far[k] * row[right[k]];
        }
    }
    __syncthreads();
}

#define MEAN(above, under) (counts[i].x * (above) + counts[i].y * (under) - taken_off)

// Holds what each new row is made of: what two old ones count, and where these are in across.
__device__ __forceinline__ void hold_rows(const GLOBAL int* places, const GLOBAL float* shares,
                                          float factor, int top, int bottom, SHARED float2* counts,
                                          SHARED int2* lines, int thread)
{
    ROLLED for (int i = top + thread; i < bottom; i += THREADS) {
        int above = places[i] - places[top], under = places[i] + 1 < OLD_HEIGHT ? above + 1 : above;
        counts[i] = make_float2(factor * shares[2 * i], factor * shares[2 * i + 1]);
        lines[i].x = above * WIDTH, lines[i].y = under * WIDTH;
    }
}

// The new rows top to bottom, each a mean of two old ones.
__device__ __forceinline__ void resize_columns(const SHARED float* across, int top, int bottom,
                                               const SHARED float2* counts, const SHARED int2* lines,
                                               float taken_off, GLOBAL result* to, int thread)
{
    // Neighbouring threads store neighbouring pixels, also from row to row.
    UNROLL_BY(4) for (int at = top * WIDTH + thread * BESIDE; at < bottom * WIDTH;
                      at += THREADS * BESIDE) {
        int i = at / WIDTH, j = at % WIDTH;
        const SHARED float *above = across + lines[i].x + j, *under = across + lines[i].y + j;
#if BESIDE == 2
        float2 one = *(const SHARED float2*)above, other = *(const SHARED float2*)under;
        *(GLOBAL result_2*)(to + at) = RESULT_2(MEAN(one.x, other.x), MEAN(one.y, other.y));
#else
        to[at] = RESULT(MEAN(above[0], under[0]));
#endif
    }
}
#endif

__global__ void RESIDENT_BOUNDS(THREADS, 8)
staged(const GLOBAL given_number* given, const GLOBAL int* labels, const GLOBAL int* order,
       const GLOBAL int* variation, const GLOBAL int* step, const GLOBAL int* places,
       const GLOBAL float* shares, const GLOBAL float* scales, GLOBAL result* __restrict__ x,
       GLOBAL int* __restrict__ chosen)
{
    GRIDDEPCONTROL_WAIT();
    int n = blockIdx.x / CHANNELS, c = blockIdx.x % CHANNELS;
    int thread = threadIdx.y * 32 + threadIdx.x;
    int64 place = (int64)step[0] * BATCH + n;
    int number = order[place], varied = variation[place];
    const GLOBAL given_number* plane =
        given + ((int64)number * CHANNELS + c) * OLD_HEIGHT * OLD_WIDTH;
    if (blockIdx.y == 0 && c == 0)
        for (int at = thread; at < WORDS; at += THREADS)
            chosen[n * WORDS + at] = labels[(int64)number * WORDS + at];
    GLOBAL result* to = x + (int64)blockIdx.x * HEIGHT * WIDTH;
    float factor = scales[2 * c], taken_off = scales[2 * c + 1];
#if STAGED
    __shared__ float old[OLD_HEIGHT * OLD_WIDTH];
    __shared__ __attribute__((aligned(16))) float across[OLD_HEIGHT * WIDTH];
    __shared__ float2 counts[HEIGHT];
    __shared__ int2 lines[HEIGHT];
    // Literals where a block has a whole image.
    int part = PARTS > 1 ? blockIdx.y : 0, top = HEIGHT * part / PARTS;
    int bottom = HEIGHT * (part + 1) / PARTS;
    if (bottom == top) return;
    int first = places[top], last = places[bottom - 1] + 1;
    last = last < OLD_HEIGHT ? last : OLD_HEIGHT - 1;
    hold_rows(places, shares, factor, top, bottom, counts, lines, thread);
    resize_rows(plane, varied, first, last, places + HEIGHT, shares + 2 * HEIGHT, old, across, thread);
    resize_columns(across, top, bottom, counts, lines, taken_off, to, thread);
#elif RESIZED
    // Warps share out the rows.
    int part = ROWS * blockIdx.y + threadIdx.y, parts = ROWS * PARTS;
    for (int i = HEIGHT * part / parts; i < HEIGHT * (part + 1) / parts; i++) {
        int top = places[i], below = top + 1 < OLD_HEIGHT ? top + 1 : top;
        for (int j = threadIdx.x; j < WIDTH; j += 32) {
            int left = places[HEIGHT + j], right = left + 1 < OLD_WIDTH ? left + 1 : left;
            float near = shares[2 * (HEIGHT + j)], far = shares[2 * (HEIGHT + j) + 1];
            float above = near * moved(plane, varied, top, left) + far * moved(plane, varied, top, right);
            float under =
                near * moved(plane, varied, below, left) + far * moved(plane, varied, below, right);
            float level = shares[2 * i] * above + shares[2 * i + 1] * under;
            to[i * WIDTH + j] = RESULT(level * factor - taken_off);
        }
    }
#else
    for (int at = THREADS * blockIdx.y + thread; at < HEIGHT * WIDTH; at += THREADS * PARTS) {
        float level = moved(plane, varied, at / WIDTH, at % WIDTH);
        to[at] = RESULT(FLOATS ? level : level * factor - taken_off);
    }
#endif
}
