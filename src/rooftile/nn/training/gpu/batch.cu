// A step's batch, gathered on the device: what the network reads of the next images in the epoch's
// order, and their labels.
//
// An image is mirrored or not and moved, zeros behind it; resized bilinearly, by two weights a row
// and two a column; and standardised.  FLOATS says that images are numbers already, which are
// neither resized nor standardised.
//
// given[][CHANNELS][OLD_HEIGHT][OLD_WIDTH], labels[][WORDS] (words of 32 bits), order[] (which image a
// place of the epoch has), variation[] (of a place of the epoch: rows moved, columns moved << 8,
// mirrored << 16), step[1], places[HEIGHT + WIDTH] (the first of the two rows or columns),
// shares[HEIGHT + WIDTH][2] (their weights), scales[CHANNELS][2] (factor, and what is taken off);
// x[][CHANNELS][HEIGHT][WIDTH], chosen[][WORDS].
// STAGED: the old image fits shared memory, where its pixels are floats; several new ones read each.
// Grid: x over the channels of the images; y over what blocks share out of one.
// Block: x over 32 columns, y over ROWS rows.

#include "common/overlapping.h"

#define ROWS 8
#define THREADS (32 * ROWS)
#define RESIZED (!FLOATS && (OLD_HEIGHT != HEIGHT || OLD_WIDTH != WIDTH))
#if FLOATS
typedef float given_number;
#else
typedef unsigned char given_number;
#endif

// A pixel of the mirrored and moved image, as a float.
__device__ __forceinline__ float moved(const GLOBAL given_number* plane, int variation, int i, int j)
{
    i += (variation & 255) - SHIFT, j += (variation >> 8 & 255) - SHIFT;
    if (i < 0 || i >= OLD_HEIGHT || j < 0 || j >= OLD_WIDTH) return 0.0f;
    if (variation >> 16) j = OLD_WIDTH - 1 - j;
    return (float)plane[i * OLD_WIDTH + j];
}

#if STAGED
#define LEVEL(i, j) old[(i) * OLD_WIDTH + (j)]
#else
#define LEVEL(i, j) moved(plane, varied, i, j)
#endif

__global__ void gather(const GLOBAL given_number* given, const GLOBAL int* labels,
                       const GLOBAL int* order, const GLOBAL int* variation,
                       const GLOBAL int* step, const GLOBAL int* places,
                       const GLOBAL float* shares, const GLOBAL float* scales,
                       GLOBAL float* __restrict__ x, GLOBAL int* __restrict__ chosen)
{
    AWAIT_EARLIER();
    int n = blockIdx.x / CHANNELS, c = blockIdx.x % CHANNELS;
    int thread = threadIdx.y * 32 + threadIdx.x;
    int64 place = (int64)step[0] * BATCH + n;
    int number = order[place], varied = variation[place];
    const GLOBAL given_number* plane =
        given + ((int64)number * CHANNELS + c) * OLD_HEIGHT * OLD_WIDTH;
    if (blockIdx.y == 0 && c == 0)
        for (int at = thread; at < WORDS; at += THREADS)
            chosen[n * WORDS + at] = labels[(int64)number * WORDS + at];
#if STAGED
    __shared__ float old[OLD_HEIGHT * OLD_WIDTH];
    for (int at = thread; at < OLD_HEIGHT * OLD_WIDTH; at += THREADS)
        old[at] = moved(plane, varied, at / OLD_WIDTH, at % OLD_WIDTH);
    __syncthreads();
#endif
    GLOBAL float* to = x + (int64)blockIdx.x * HEIGHT * WIDTH;
    float factor = scales[2 * c], taken_off = scales[2 * c + 1];
#if RESIZED
    // A thread walks down some rows of a column; four levels serve all rows that lie among them.
    int part = ROWS * blockIdx.y + threadIdx.y, parts = ROWS * gridDim.y;
    int begin = HEIGHT * part / parts, end = HEIGHT * (part + 1) / parts;
    for (int j = threadIdx.x; j < WIDTH; j += 32) {
        int left = places[HEIGHT + j], right = left + 1 < OLD_WIDTH ? left + 1 : left, top = -1;
        float near = shares[2 * (HEIGHT + j)], far = shares[2 * (HEIGHT + j) + 1];
        float2 above = make_float2(0.0f, 0.0f), under = above;
        UNROLL_BY(2) for (int i = begin; i < end; i++) {
            float2 share = ((const GLOBAL float2*)shares)[i];
            if (places[i] != top) {
                top = places[i];
                int below = top + 1 < OLD_HEIGHT ? top + 1 : top;
                above = make_float2(LEVEL(top, left), LEVEL(top, right));
                under = make_float2(LEVEL(below, left), LEVEL(below, right));
            }
            float before = share.x * above.x + share.y * under.x;
            float after = share.x * above.y + share.y * under.y;
            to[i * WIDTH + j] = (near * before + far * after) * factor - taken_off;
        }
    }
#else
    for (int at = THREADS * blockIdx.y + thread; at < HEIGHT * WIDTH; at += THREADS * gridDim.y) {
        float level = moved(plane, varied, at / WIDTH, at % WIDTH);
        to[at] = FLOATS ? level : level * factor - taken_off;
    }
#endif
}
