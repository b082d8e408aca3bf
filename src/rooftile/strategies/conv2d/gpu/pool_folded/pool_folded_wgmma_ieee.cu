// Rung 25, pool_folded_wgmma_ieee: float32 as two parts of float16, the pool folded on warpgroups.
//
// As rung 24, pool_folded_wgmma_tf32, with x = hi + lo in float16, scaled as `common/scaled.h` says, and
// three products for one: a band by its own largest number, and each map's weights likewise.
// A band is split once, in place: pairs of neighbours lie as their high and their low parts.
// Products of high parts are summed apart, SUMMED slabs at a time: cores truncate sums, and short
// sums keep that below float32's error.  Of the low ones even that is too little to matter.
// Results that are in doubt become NaN, which `repair` finds.
// What it removes: float32's arithmetic on the cores that every program shares.
//
// x[images][CHANNELS][HEIGHT][WIDTH]; weights[ALL_SLABS][2 rows][2 parts][MAP_GROUPS][2][8 columns]
// [8 deep] in float16, behind them the exponents[4 MAP_GROUPS] that scale results back, the least
// result that small weights leave no doubt of, and the given weights[MAPS][CHANNELS][MASK_HEIGHT]
// [MASK_WIDTH]; bias[MAPS]; out[images][MAPS][ROWS][COLUMNS].
// Block: WARPS warps, in warpgroups that have bands of their own; a warp takes strips of 8 windows
// (columns) x STEPS rows, and as many again half a band below, of all maps.

#include "common/scaled.h"
#include "common/warpgroups.h"
#include "conv2d/gpu/pool_folded/folded.h"

#define PATCH_SLABS ((MASK_HEIGHT + 2) / 2)
#define SLABS (CHANNELS * PATCH_SLABS)
#define ALL_SLABS ((SLABS + SUMMED - 1) / SUMMED * SUMMED)
#define SLAB_BYTES (1024 * MAP_GROUPS)
#define WEIGHT_BYTES (ALL_SLABS * SLAB_BYTES)
#define BAND_SIZE (CHANNELS * TILE_SIZE)

#define LOW(b) ((b) + (SLAB_BYTES / 4 >> 4))
// Two rows of a patch for a lane's two windows, as an instruction takes them.
struct slab { pair hi[4], lo[4]; };

__device__ __forceinline__ float tap(const float* weights, int map, int c, int p, int q)
{
    return weights[WEIGHT_BYTES / 4 + 4 * MAP_GROUPS + 1 +
                   ((map * CHANNELS + c) * MASK_HEIGHT + p) * MASK_WIDTH + q];
}

// What a band's numbers span.
__device__ __forceinline__ struct range range_of(const float* tile)
{
    __shared__ struct range ranges[WARPS];
    struct range range = {0, ~0u};
    for (int e = MEMBER; e < BAND_SIZE / 4; e += TEAM) {
        uint4 four = ((const uint4*)tile)[e];
        widen(&range, four.x), widen(&range, four.y), widen(&range, four.z), widen(&range, four.w);
    }
    range = of_warp(range);
    if (threadIdx.x % 32 == 0) ranges[threadIdx.x / 32] = range;
    meet();
    UNROLL for (int e = threadIdx.x / 128 * 4; e < threadIdx.x / 128 * 4 + 4; e++)
        join(&range, ranges[e].most, ranges[e].before);
    return range;
}

// Zeros in place of the rows that the image's last band lacks: of the band before, split.
__device__ __forceinline__ void clear_rest(float* tile, int band)
{
    int rows = HEIGHT - band % BANDS * BAND_STEP;
    if ((BANDS - 1) * BAND_STEP + TILE_ROWS <= HEIGHT || rows >= TILE_ROWS) return;
    const int size = CHANNELS * TILE_SIZE, first = (rows * WIDTH + PIECE - 1) / PIECE * PIECE;
    for (int e = MEMBER; e < size; e += TEAM)
        if (e % TILE_SIZE >= first) tile[e] = 0.0f;
}

// A band's pairs of numbers as their high and their low parts, where they lie.
__device__ __forceinline__ void split(float* tile, float scale)
{
    for (int e = MEMBER; e < BAND_SIZE / 4; e += TEAM) {
        float4 four = ((const float4*)tile)[e];
        float x = four.x * scale, y = four.y * scale, z = four.z * scale, w = four.w * scale;
        float a = widened(NARROW(x)), b = widened(NARROW(y));
        float c = widened(NARROW(z)), d = widened(NARROW(w));
        ((uint4*)tile)[e] = make_uint4(pack(a, b), pack(low(x, a), low(y, b)),
                                       pack(c, d), pack(low(z, c), low(w, d)));
    }
}

__device__ __forceinline__ void load_slab(const float* patch, int s, struct slab* a)
{
    // What is beyond the last slab meets zeros.
    if (s >= SLABS) s = SLABS - 1;
    patch += s / PATCH_SLABS * TILE_SIZE + 2 * (s % PATCH_SLABS) * PITCH;
    UNROLL for (int e = 0; e < 4; e++) {
        uint2 two = *(const uint2*)(patch + (2 * HALF_STEPS * (e % 2) + e / 2) * PITCH);
        a->hi[e] = two.x, a->lo[e] = two.y;
    }
}

// Begins a slab's products.  It may still run; what it reads must stay until it is complete.
__device__ __forceinline__ void begin(const struct slab* a, word b, bool first,
                                      float big[GROUPS][2][4], float small[GROUPS][2][4])
{
    begin_products();
    if (first)
        WGMMA_FIRST(big, a->hi, b);
    else
        WGMMA_NEXT(big, a->hi, b);
    WGMMA_NEXT(small, a->hi, LOW(b));
    WGMMA_NEXT(small, a->lo, b);
    end_products();
}

// Adds what a run of slabs has come to.
__device__ __forceinline__ void add_run(float big[GROUPS][2][4], float total[GROUPS][2][4])
{
    WGMMA_WAIT(big);
    UNROLL for (int e = 0; e < GROUPS * 8; e++)
        total[e / 8][e / 4 % 2][e % 4] += big[e / 8][e / 4 % 2][e % 4];
}

// The product of a row of windows' patches with all folded masks, still scaled.  While a slab is
// multiplied, the next one's patches are read; in the end the first of a row at `next`.
__device__ __forceinline__ void multiply(const float* patch, const float* next,
                                         word b, struct slab a[2],
                                         float sum[GROUPS][2][4])
{
    float total[GROUPS][2][4], small[GROUPS][2][4];
    UNROLL for (int e = 0; e < GROUPS * 8; e++)
        total[e / 8][e / 4 % 2][e % 4] = small[e / 8][e / 4 % 2][e % 4] = 0.0f;
    ROLLED for (int first = 0; first < ALL_SLABS; first += SUMMED) {
        float big[GROUPS][2][4];
        UNROLL for (int turn = 0; turn < SUMMED; turn++) {
            int s = first + turn, last = turn + 1 == SUMMED && s + 1 == ALL_SLABS;
            begin(&a[turn % 2], b + s * (SLAB_BYTES >> 4), turn == 0, big, small);
            // The slab before is complete.
            IN_FLIGHT(1);
            load_slab(last ? next : patch, last ? 0 : s + 1, &a[1 - turn % 2]);
        }
        add_run(big, total);
    }
    WGMMA_WAIT(small);
    UNROLL for (int e = 0; e < GROUPS * 8; e++)
        sum[e / 8][e / 4 % 2][e % 4] = fmaf(small[e / 8][e / 4 % 2][e % 4], 1.0f / LOW_SCALE,
                                            total[e / 8][e / 4 % 2][e % 4]);
}

// The pool of four positions, scaled back by 2^exponent.
__device__ __forceinline__ float four_scaled_back(float sum[2][4], int half, float shift,
                                                  int exponent, struct floors least)
{
    if (POOL_AVERAGE)
        UNROLL for (int v = 0; v < 4; v++) {
            float* z = &sum[v / 2][2 * half + v % 2];
            *z = scaled_back(*z, exponent, least);
        }
    // The largest is the largest at any scale.
    float four = of_four(sum, half, shift);
    return POOL_AVERAGE ? four : scaled_back(four, exponent, least);
}

// A warp's strip: its rows of windows downwards.  Results are 2^exponents times too small.
__device__ __forceinline__ void strip(const float* tile, word b,
                                      const int exponents[GROUPS], struct floors least,
                                      const float shift[GROUPS], const float* image,
                                      const float* weights, float* results, int map, int window,
                                      int top, int start)
{
    const float* patch = tile + 2 * start * PITCH + 2 * window + 2 * (threadIdx.x % 4);
    float* place = results + map * MAP_PITCH + window / WINDOWS_RIGHT;
    struct slab a[2];
    load_slab(patch, 0, &a[0]);
    float most[GROUPS][2];
    bool doubtful = false;
    ROLLED for (int step = 0; step < STEPS; step++) {
        float sum[GROUPS][2][4];
        const float* next = patch + (step + 1 < STEPS ? 2 * PITCH : 0);
        multiply(patch, next, b, a, sum);
        patch = next;
        UNROLL for (int e = 0; e < 2 * GROUPS; e++) {
            int h = e % 2, m = e / 2;
            float four = four_scaled_back(sum[m], h, shift[m], exponents[m], least);
            doubtful |= pool_step(four, &most[m][h], shift[m], step, start, h,
                                  place + 4 * m * MAP_PITCH, map + 4 * m, window, top);
        }
    }
    repair_strip(doubtful, image, weights, shift, results, map, window, top, start);
}

// A team's bands, through one buffer or, the next one's copies under way, through two.
__device__ __forceinline__ void bands(const float* x, const float* weights, float* out,
                                      int images, float* tiles, word b,
                                      const int exponents[GROUPS], float weights_least,
                                      const float shift[GROUPS])
{
    const int apart = gridDim.x * (THREADS / TEAM), lane = threadIdx.x % 32;
    int band = threadIdx.x / TEAM * gridDim.x + blockIdx.x;
    if (FLAT && BUFFERS == 2 && band < images * BANDS) start_band(x, band, tiles);
    for (int turn = 0; band < images * BANDS; band += apart, turn ^= BUFFERS - 1) {
        float* tile = tiles + turn * BAND_SIZE;
        await_band(x, band, tile);
        if (FLAT) clear_rest(tile, band);
        meet();
        if (FLAT && BUFFERS == 2 && band + apart < images * BANDS)
            start_band(x, band + apart, tiles + (turn ^ 1) * BAND_SIZE);
        struct range range = range_of(tile);
        struct floors least = floors_of(range, weights_least);
        int scale = scale_of(range), back[GROUPS];
        split(tile, power(scale));
        meet();
        UNROLL for (int m = 0; m < GROUPS; m++) back[m] = exponents[m] - scale;
        const float* image = x + (size_t)(band / BANDS) * IMAGE_SIZE;
        int top = band % BANDS * BAND_ROWS;
        float* results = out + (size_t)(band / BANDS) * RESULT_SIZE + top * COLUMNS;
        // Spare warps repeat a task: four multiply together.
        for (int task = MEMBER / 32; task < TASKS; task += WORKERS)
            strip(tile, b, back, least, shift, image, weights, results, lane % 4,
                  task % STRIPS * 8 + lane / 4, top, task / STRIPS % SEGMENTS * STEPS);
    }
}

__global__ RESIDENT_BOUNDS(THREADS, LEAST_BLOCKS) void conv2d(
    const float* __restrict__ x, const float* __restrict__ weights,
    const float* __restrict__ bias, float* __restrict__ out, int images)
{
    extern __shared__ __align__(128) char shared[];
    float* tiles = (float*)(shared + WEIGHT_BYTES) + threadIdx.x / TEAM * BUFFERS * BAND_SIZE;
    // What no copy reaches meets zeros of the mask, and must be finite.
    for (int e = MEMBER; e < BUFFERS * BAND_SIZE; e += TEAM) tiles[e] = 0.0f;
    float shift[GROUPS];
    int exponents[GROUPS];
    UNROLL for (int m = 0; m < GROUPS; m++) {
        int map = 4 * m + threadIdx.x % 4;
        shift[m] = map < MAPS ? bias[map] : 0.0f;
        exponents[m] = (int)weights[WEIGHT_BYTES / 4 + map];
    }
    for (int e = threadIdx.x; e < WEIGHT_BYTES / 16; e += THREADS)
        ((uint4*)shared)[e] = ((const uint4*)weights)[e];
    shared_ready();
    word b = PIECES_AT((unsigned)__cvta_generic_to_shared(shared), SLAB_BYTES / 2);
    __syncthreads();
    bands(x, weights, out, images, tiles, b, exponents, weights[WEIGHT_BYTES / 4 + 4 * MAP_GROUPS],
          shift);
}
