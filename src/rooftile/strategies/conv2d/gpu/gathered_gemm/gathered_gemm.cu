// gathered_gemm: few channels, any mask, any stride and any pool, on tensor cores.
//
// Rows of a matrix product are pixels, columns are maps, and the sum runs over the taps of all
// channels without gaps: with few channels a sum that ran over one channel's taps, or over one
// tap's channels, would leave most of an instruction empty. A tile of inputs is in shared memory
// once. A term of a pixel is there at the pixel's place plus the term's own, for any mask and
// stride, so lanes gather their operands from the tile: nothing is unrolled. Adjacent lanes read
// adjacent inputs or the same ones, which are in different banks. A warp has its share of a tile in
// registers; then sums take the inputs' place in shared memory, and are pooled and stored in whole
// lines.
// With two NUMBERS, float32 is split in two of TF32, x = high + low, and three products stand for
// one. Cores cut sums off, so an instruction's sum is added to the total in float32. TF32 has
// float32's range, but not the low parts of numbers below SMALL: results of tiles, or of weights,
// with such a number are computed from their definition, and so are results that are not finite,
// which zeros around weights may have spoiled.
// What it removes: the FMA units' limit for few channels.
//
// x[images][CHANNELS][HEIGHT][WIDTH], or with X_LAST its channels last, in float or, with X_NARROW,
// in the cores' own type; weights[MAP_TILES][STEPS][SETS][32 lanes][2], words as lanes hold them,
// rounded by a kernel before; bias[MAPS]; out[images][MAPS][ROWS][COLUMNS], or with OUT_LAST its maps
// last, in float or, with OUT_NARROW, in the cores' own type.
// Grid: x over tiles, which blocks take one after another; y over tiles of maps.  Block: WARPS warps.

#define FAMILY gathered_gemm
#include "common/rounded.h"
#include "common/pipelines/wgmma.h"
#include "conv2d/gpu/gathered_gemm/fill.h"
#include "conv2d/gpu/gathered_gemm/results.h"

#define PIECES (WARP_PIXELS / 16)
#define COLUMN_SETS (WARP_MAPS / 8)
#define PIXEL_TASKS ((PIXELS + WARP_PIXELS - 1) / WARP_PIXELS)
#define TASKS (PIXEL_TASKS * (TILE_MAPS / WARP_MAPS))
// 2^-100 without its sign bit, less one.
#define SMALL ((27u << 24) - 1)

struct sums { float of[PIECES][COLUMN_SETS][4]; };

// True if a number is too small to be split, but not zero.
__device__ __forceinline__ bool too_small(unsigned bits) { return (bits << 1) - 1 < SMALL; }

// Rounds the numbers of a tile that has come as it lay, or looks at those that will be split.
// Returns whether one is too small.  Threads have met, and meet again.
__device__ __forceinline__ bool end_tile(unsigned* tile)
{
    bool small = false;
#if CORES == TF32
    UNROLL_BY(4) for (int e = threadIdx.x; e < (TILE_WORDS + 3) / 4; e += THREADS) {
        uint4 four = ((const uint4*)tile)[e];
        if (NUMBERS == 2) {
            small |= too_small(four.x) || too_small(four.y) || too_small(four.z) ||
                     too_small(four.w);
        } else {
            four.x = __float_as_uint(tf32(__uint_as_float(four.x)));
            four.y = __float_as_uint(tf32(__uint_as_float(four.y)));
            four.z = __float_as_uint(tf32(__uint_as_float(four.z)));
            four.w = __float_as_uint(tf32(__uint_as_float(four.w)));
            ((uint4*)tile)[e] = four;
        }
    }
#endif
#if NUMBERS == 2
    return __syncthreads_or(small);
#else
    if (CORES == TF32) __syncthreads();
    return small;
#endif
}

// A word in its numbers.
__device__ __forceinline__ void split(unsigned word, unsigned number[NUMBERS])
{
    number[0] = word;
#if NUMBERS == 2
    float high = tf32(__uint_as_float(word));
    number[0] = __float_as_uint(high);
    number[1] = __float_as_uint(tf32(__uint_as_float(word) - high));
#endif
}

// Adds the products of 16 pixels by 8 maps.
__device__ __forceinline__ void add_products(float sum[4], const unsigned a[NUMBERS][4],
                                             const unsigned b[NUMBERS][2])
{
#if NUMBERS == 1
    multiply_add(sum, a[0], b[0]);
#else
    // The small products come first.
    float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    multiply_add(part, a[1], b[0]);
    multiply_add(part, a[0], b[1]);
    multiply_add(part, a[0], b[0]);
    UNROLL for (int e = 0; e < 4; e++) sum[e] += part[e];
#endif
}

// Sums up a warp's task: pixels in the tile, and sets of maps.
__device__ __forceinline__ void multiply(const char* const pixels[2 * PIECES], const uint2* taps,
                                         const int2* offsets, struct sums* sums)
{
    UNROLL for (int e = 0; e < PIECES * COLUMN_SETS * 4; e++)
        sums->of[e / (4 * COLUMN_SETS)][e / 4 % COLUMN_SETS][e % 4] = 0.0f;
    UNROLL_BY(2) for (int step = 0; step < STEPS; step++, taps += SETS * 32, offsets += 4) {
        int2 at = *offsets;
        unsigned b[COLUMN_SETS][NUMBERS][2];
        UNROLL for (int s = 0; s < COLUMN_SETS; s++) {
            uint2 word = taps[32 * s];
            unsigned first[NUMBERS], second[NUMBERS];
            split(word.x, first);
            split(word.y, second);
            UNROLL for (int number = 0; number < NUMBERS; number++)
                b[s][number][0] = first[number], b[s][number][1] = second[number];
        }
        UNROLL for (int r = 0; r < PIECES; r++) {
            unsigned a[NUMBERS][4];
            UNROLL for (int e = 0; e < 4; e++) {
                unsigned number[NUMBERS];
                const char* from = pixels[2 * r + e % 2] + (e < 2 ? at.x : at.y);
                split(*(const unsigned*)from, number);
                UNROLL for (int n = 0; n < NUMBERS; n++) a[n][e] = number[n];
            }
            UNROLL for (int s = 0; s < COLUMN_SETS; s++) add_products(sums->of[r][s], a, b[s]);
        }
    }
}

// Keeps a warp's sums, as far as the tile has such pixels.
__device__ __forceinline__ void keep(float* staged, const struct sums* sums, int pixel, int map)
{
    UNROLL for (int r = 0; r < 2 * PIECES; r++) {
        if (pixel + 8 * r >= PIXELS) break;
        UNROLL for (int e = 0; e < 2 * COLUMN_SETS; e++)
            staged[STAGED_AT(map + e / 2 * 8 + e % 2, pixel + 8 * r)] =
                sums->of[r / 2][e / 2][r % 2 * 2 + e % 2];
    }
}

// True if all sums of a thread are finite.
__device__ __forceinline__ bool finite(const struct sums* sums)
{
    float zero = 0.0f;
    UNROLL for (int e = 0; e < PIECES * COLUMN_SETS * 4; e++)
        zero += 0.0f * sums->of[e / (4 * COLUMN_SETS)][e / 4 % COLUMN_SETS][e % 4];
    return zero == 0.0f;
}

// Computes from their definition what a thread has kept of doubtful sums, or of such as are not
// finite.
__device__ __noinline__ void mend(float* staged, const given* x, const unsigned* weights,
                                  struct place place, int pixel, int map, bool doubtful, int images)
{
    ROLLED for (int r = 0; r < 2 * PIECES && pixel + 8 * r < PIXELS; r++)
        ROLLED for (int e = 0; e < 2 * COLUMN_SETS; e++) {
            int m = map + e / 2 * 8 + e % 2, p = pixel + 8 * r;
            if (doubtful || !(fabsf(staged[STAGED_AT(m, p)]) < INFINITY))
                staged[STAGED_AT(m, p)] = direct_sum_of(x, weights, place, p, m, images);
        }
}

__global__ RESIDENT_BOUNDS(THREADS, BLOCKS) void gathered_gemm(const given* __restrict__ x,
                                                               const unsigned* __restrict__ weights,
                                                               const float* __restrict__ bias,
                                                               result* __restrict__ out, int images)
{
    extern __shared__ __align__(16) unsigned shared[];
    unsigned* taps = shared;
    int* offsets = (int*)(taps + TAP_WORDS);
    // Inputs, and in their place sums.
    unsigned* tile = taps + TAP_WORDS + 8 * STEPS;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    bool small = false;
    weights += blockIdx.y * TAP_WORDS;
    for (int e = threadIdx.x; e < TAP_WORDS; e += THREADS) {
        taps[e] = weights[e];
        small |= NUMBERS == 2 && too_small(taps[e]);
    }
    // A lane wants two words of each step: its fourth's, and the one four further.
    for (int e = threadIdx.x; e < 8 * STEPS; e += THREADS)
        offsets[e] = offset_of(e / 8 * 8 + e % 2 * 4 + e / 2 % 4);
    // The words that `end_tile` reads beyond the last one.
    if (threadIdx.x < (4 - TILE_WORDS % 4) % 4) tile[TILE_WORDS + threadIdx.x] = 0;
    bool small_taps = NUMBERS == 2 && __syncthreads_or(small);

    int first = warp % PIXEL_TASKS * WARP_PIXELS + lane / 4;
    int set = warp / PIXEL_TASKS * COLUMN_SETS;
    const char* pixels[2 * PIECES];
    UNROLL for (int e = 0; e < 2 * PIECES; e++)
        pixels[e] = (const char*)tile + pixel_place(min(first + 8 * e, PIXELS - 1));
    int tiles = (images + TILE_IMAGES - 1) / TILE_IMAGES * (TILES_DOWN * TILES_RIGHT);
    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
        struct place place = place_of(index);
        struct sums sums;
        start_tile(x, place, tile, images);
        COPIES_DONE();
        __syncthreads();
        bool doubtful = end_tile(tile) || small_taps;
        if (warp < TASKS)
            multiply(pixels, (const uint2*)taps + set * 32 + lane, (const int2*)offsets + lane % 4,
                     &sums);
        __syncthreads();
        if (warp < TASKS) {
            keep((float*)tile, &sums, first, set * 8 + lane % 4 * 2);
            if (doubtful || !finite(&sums))
                mend((float*)tile, x, weights, place, first, set * 8 + lane % 4 * 2, doubtful,
                     images);
        }
        __syncthreads();
        store_results((const float*)tile, bias, out, place, images);
        __syncthreads();
    }
}
