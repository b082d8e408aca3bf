// A tile's inputs are loaded to shared memory as words. Ghost cells, and images beyond the last,
// are zeros.
//
// Lanes of a warp take runs of adjacent words: rows of a plane or, with X_LAST, rows of pixels with
// all their planes. Where a tile wants whole rows and nothing around them, all rows of a plane are
// one run, of which a thread takes FLAT words at a time.

#pragma once

#include "conv2d/gpu/gathered_gemm/tile.h"

#define RUNS (TILE_IMAGES * IN_ROWS * (X_LAST ? 1 : PLANES))
#define RUN_WORDS (IN_WORDS * (X_LAST ? PLANES : 1))
// Both elements of a word are one word of memory.
#define PAIR_LOADS                                                                              \
    (X_NARROW && !X_LAST && COLUMN_PAIRS && PACKED && WIDTH % 2 == 0 && (PAD_X + SHIFT) % 2 == 0)

__device__ __forceinline__ bool inside(int size, int i) { return (unsigned)i < (unsigned)size; }

#if CORES != TF32
// Two elements as the cores multiply them.
__device__ __forceinline__ unsigned pair_of(given first, given second)
{
#if X_NARROW
    return first | (unsigned)second << 16;
#else
    return pack(first, second);
#endif
}
#endif

#if FLAT
#if FLAT == 1
typedef given piece;
#elif FLAT * X_BYTES == 4
typedef unsigned piece;
#elif FLAT * X_BYTES == 8
typedef uint2 piece;
#else
typedef uint4 piece;
#endif

// Elements of a plane, or of a pair of them, become FLAT words.
__device__ __forceinline__ void bring_piece(unsigned* to, const given* from, bool second)
{
#if CORES == TF32
    COPY_ASYNC(piece, (piece*)to, (const piece*)from);
#else
    __align__(16) given x[FLAT], y[FLAT];
    *(piece*)x = *(const piece*)from;
    UNROLL for (int k = 0; k < FLAT; k++) y[k] = 0;
    if (second) *(piece*)y = *(const piece*)(from + HEIGHT * WIDTH);
    UNROLL for (int k = 0; k < FLAT; k++) to[k] = pair_of(x[k], y[k]);
#endif
}

__device__ __forceinline__ void start_tile(const given* x, struct place place, unsigned* tile,
                                           int images)
{
    const int run = PLANE_WORDS / FLAT, planes = CHANNELS_A_WORD;
    int row = place.row * (POOL_STRIDE_Y * STRIDE_Y);
    UNROLL_BY(4) for (int e = threadIdx.x; e < TILE_IMAGES * PLANES * run; e += THREADS) {
        int at = e % run * FLAT, plane = e / run % PLANES, n = place.image + e / (run * PLANES);
        const given* from =
            x + ((size_t)n * CHANNELS + plane * planes) * (HEIGHT * WIDTH) + row * WIDTH + at;
        if (n < images && at < (HEIGHT - row) * WIDTH)
            bring_piece(tile + e * FLAT, from, plane * planes + 1 < CHANNELS);
        else
            UNROLL for (int k = 0; k < FLAT; k++) tile[e * FLAT + k] = 0;
    }
}
#else
// Brings the word that begins with column `j` of a row, in channel `c`.
__device__ __forceinline__ void bring_word(unsigned* to, const given* row, bool there, int c, int j)
{
    const given* from = row + (X_LAST ? j * CHANNELS + c : j);
    bool first = there && inside(WIDTH, j);
#if CORES == TF32
    if (first)
        COPY_ASYNC(float, (float*)to, (const float*)from);
    else
        *to = 0;
#elif PAIR_LOADS
    *to = first ? *(const unsigned*)from : 0;
#else
    const int next = COLUMN_PAIRS == X_LAST ? (X_LAST ? CHANNELS : HEIGHT * WIDTH) : 1;
    bool second = COLUMN_PAIRS ? there && inside(WIDTH, j + 1) : first && c + 1 < CHANNELS;
    *to = pair_of(first ? from[0] : (given)0, second ? from[next] : (given)0);
#endif
}

__device__ __forceinline__ void start_tile(const given* x, struct place place, unsigned* tile,
                                           int images)
{
    int left = place.column * (POOL_STRIDE_X * STRIDE_X) - PAD_X - SHIFT;
    ROLLED for (int run = threadIdx.x / RUN_LANES; run < RUNS; run += THREADS / RUN_LANES) {
        int row = run % IN_ROWS, plane = X_LAST ? 0 : run / IN_ROWS % PLANES;
        int n = run / (IN_ROWS * (X_LAST ? 1 : PLANES));
        int i = place.row * (POOL_STRIDE_Y * STRIDE_Y) - PAD_Y + row;
        unsigned* to = tile + n * IMAGE_WORDS + plane * PLANE_WORDS + row * IN_WORDS;
        bool there = place.image + n < images && inside(HEIGHT, i);
        const given* from = x + (size_t)(place.image + n) * IMAGE_SIZE;
        from += X_LAST ? i * (WIDTH * CHANNELS) : (plane * CHANNELS_A_WORD * HEIGHT + i) * WIDTH;
        UNROLL_BY(4) for (int e = threadIdx.x % RUN_LANES; e < RUN_WORDS; e += RUN_LANES) {
            int at = X_LAST ? e / PLANES : e, own = X_LAST ? e % PLANES : plane;
            bring_word(to + (X_LAST ? own * PLANE_WORDS : 0) + at, from, there,
                       own * CHANNELS_A_WORD, left + at * COLUMNS_A_WORD);
        }
    }
}
#endif
