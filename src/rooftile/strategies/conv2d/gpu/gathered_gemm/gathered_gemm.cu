// Rungs 34 to 37, gathered_gemm: few channels, any mask, any stride and any pool, on tensor cores.
//
// Rows of a matrix product are pixels, columns are maps, and the sum runs over the taps of all
// channels without gaps: with few channels a sum that ran over one channel's taps, or over one
// tap's channels, would leave most of an instruction empty.  A tile of inputs lies in shared memory
// once.  A term of a pixel lies there at the pixel's place plus the term's own, whatever mask and
// stride are, so lanes gather their operands from the tile: nothing is unrolled.  Lanes beside each
// other want inputs beside each other or the same ones, which meet different banks.  Sums wait in
// shared memory, and are pooled and stored in whole lines.
// With two NUMBERS, float32 is split in two of TF32, x = high + low, and three products stand for
// one.  Cores cut sums off, so what an instruction has summed up is added to the total in float32.
// TF32 has float32's range, but not the low numbers of what is below SMALL: results of tiles, or of
// weights, with such a number are computed from their definition, and so are results that are not
// finite, which zeros around weights may have spoiled.
// What it removes: the FMA units' limit for few channels.
//
// x[images][CHANNELS][HEIGHT][WIDTH], or with X_LAST its channels last, in float or, with X_NARROW,
// in the cores' own type; weights[MAP_TILES][STEPS][SETS][32 lanes][2], words as lanes hold them,
// rounded by a kernel before; bias[MAPS]; out[images][MAPS][ROWS][COLUMNS], or with OUT_LAST its maps
// last, in float or, with OUT_NARROW, in the cores' own type.
// Grid: x over tiles, which blocks take one after another; y over tiles of maps.  Block: WARPS warps.

#include "common/rounded.h"
#include "common/warpgroups.h"
#include "conv2d/gpu/gathered_gemm/tile.h"
#include "conv2d/gpu/gathered_gemm/results.h"

#define PIECES (WARP_PIXELS / 16)
#define COLUMN_SETS (WARP_MAPS / 8)
#define PIXEL_TASKS ((PIXELS + WARP_PIXELS - 1) / WARP_PIXELS)
#define TASKS (PIXEL_TASKS * (TILE_MAPS / WARP_MAPS))
// 2^-100 without its sign bit, less one.
#define SMALL ((27u << 24) - 1)

struct sums { float of[PIECES][COLUMN_SETS][4]; };

// Whether a number is too small to be split, but not zero.
__device__ __forceinline__ bool too_small(unsigned bits) { return (bits << 1) - 1 < SMALL; }

// Ends what `start_tile` has begun, for the words that the thread has copied itself.  Returns whether
// one is too small.
__device__ __forceinline__ bool end_tile(unsigned* tile, struct place place)
{
    bool small = false;
#if CORES == TF32
    COPIES_DONE();
    UNROLL_BY(4) for (int e = threadIdx.x; e < TILE_WORDS; e += THREADS) {
        int at = cell_of(e, place).at;
        if (NUMBERS == 2)
            small |= too_small(tile[at]);
        else
            tile[at] = __float_as_uint(tf32(__uint_as_float(tile[at])));
    }
#endif
    return small;
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

__global__ RESIDENT_BOUNDS(THREADS, BLOCKS) void conv2d(const given* __restrict__ x,
                                                        const unsigned* __restrict__ weights,
                                                        const float* __restrict__ bias,
                                                        result* __restrict__ out, int images)
{
    extern __shared__ __align__(16) unsigned shared[];
    unsigned* taps = shared;
    int* offsets = (int*)(taps + TAP_WORDS);
    unsigned* tile = taps + TAP_WORDS + 8 * STEPS;
    float* staged = (float*)(tile + (TILE_WORDS + 3) / 4 * 4);
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
    bool small_taps = NUMBERS == 2 && __syncthreads_or(small);

    int tiles = (images + TILE_IMAGES - 1) / TILE_IMAGES * (TILES_DOWN * TILES_RIGHT);
    for (int index = blockIdx.x; index < tiles; index += gridDim.x) {
        struct place place = place_of(index);
        start_tile(x, place, tile, images);
        bool doubtful = end_tile(tile, place);
        if (NUMBERS == 2)
            doubtful = __syncthreads_or(doubtful) || small_taps;
        else
            __syncthreads();
        ROLLED for (int task = warp; task < TASKS; task += WARPS) {
            int first = task % PIXEL_TASKS * WARP_PIXELS + lane / 4;
            int set = task / PIXEL_TASKS * COLUMN_SETS;
            const char* pixels[2 * PIECES];
            UNROLL for (int e = 0; e < 2 * PIECES; e++)
                pixels[e] = (const char*)tile + pixel_place(min(first + 8 * e, PIXELS - 1));
            struct sums sums;
            multiply(pixels, (const uint2*)taps + set * 32 + lane, (const int2*)offsets + lane % 4,
                     &sums);
            UNROLL for (int e = 0; e < PIECES * COLUMN_SETS * 4; e++) {
                int pixel = first + e / (4 * COLUMN_SETS) * 16 + ROW_OF(e % 4);
                int map = set * 8 + e / 4 % COLUMN_SETS * 8 + lane % 4 * 2 + e % 2;
                float sum = sums.of[e / (4 * COLUMN_SETS)][e / 4 % COLUMN_SETS][e % 4];
                if (pixel >= PIXELS) continue;
                if (doubtful || !(fabsf(sum) < INFINITY))
                    sum = direct_sum_of(x, weights, place, pixel, map, images);
                staged[STAGED_AT(map, pixel)] = sum;
            }
        }
        __syncthreads();
        store_results(staged, bias, out, place, images);
    }
}
