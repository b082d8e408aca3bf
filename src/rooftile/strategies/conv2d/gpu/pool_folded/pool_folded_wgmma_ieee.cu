// Rung 25, pool_folded_wgmma_ieee: float32 as two numbers of float16, the pool folded on
// warpgroups.
//
// As rung 24, pool_folded_wgmma_tf32, but each number is split in two of float16, x = high + low,
// and three products stand for one.  A band is scaled by its own largest number, and each map's
// weights by theirs, as `common/scaled.h` says.  A band is split once, in place: two neighbours lie
// as the pair of their high numbers, then the pair of their low ones.  Products of high numbers are
// summed apart, SUMMED slabs at a time: cores truncate sums, and short sums keep that below
// float32's error.  Products with low numbers are too small for it to matter.  Results that are in
// doubt become NaN, which `repair` finds.
// What it removes: float32's arithmetic on the cores that every program shares.
//
// x[images][CHANNELS][HEIGHT][WIDTH];
// weights: `split.h` says how it splits them; bias[MAPS];
// out[images][MAPS][ROWS][COLUMNS].
// Block: WARPS warps, in warpgroups that have bands of their own.  A warp takes tasks, for all
// maps.  `folded.h` says what a band, a strip and a task are.

#include "common/overlapping.h"
#include "common/warpgroups.h"
#include "conv2d/gpu/pool_folded/split_band.h"

#define SLAB_BYTES (1024 * MAP_GROUPS)
#define WEIGHT_BYTES (ALL_SLABS * SLAB_BYTES)
#define LOW(b) ((b) + (SLAB_BYTES / 4 >> 4))

__device__ __forceinline__ void load_slab(const float* patch, int s, struct slab* a)
{
    // Slabs beyond the last repeat it; their weights are zeros.
    if (s >= SLABS) s = SLABS - 1;
    patch += s / PATCH_SLABS * TILE_SIZE + 2 * (s % PATCH_SLABS) * PITCH;
    UNROLL for (int e = 0; e < 4; e++) {
        const volatile pair* two =
            (const volatile pair*)patch + (2 * HALF_STEPS * (e % 2) + e / 2) * PITCH;
        a->high[e] = two[0], a->low[e] = two[1];
    }
}

// Begins a slab's products.  They may still be under way after that: what they read must stay until
// they are complete.
__device__ __forceinline__ void begin(const struct slab* a, word b, bool first,
                                      float big[SUMS], float small[SUMS])
{
    begin_products();
    if (first)
        WGMMA_FIRST(big, a->high, b);
    else
        WGMMA_NEXT(big, a->high, b);
    WGMMA_NEXT(small, a->high, LOW(b));
    WGMMA_NEXT(small, a->low, b);
    end_products();
}

// Adds what a run of slabs has come to.
__device__ __forceinline__ void add_run(float big[SUMS], float total[SUMS])
{
    WGMMA_WAIT(big);
    UNROLL for (int e = 0; e < SUMS; e++) total[e] += big[e];
}

// Multiplies the patches of a row of windows by all folded masks; sums are still scaled.  While one
// slab is multiplied, the next is read; after the last, the first of the row at `next`.
__device__ __forceinline__ void multiply(const float* patch, const float* next, word b,
                                         struct slab a[2], float sum[SUMS])
{
    float total[SUMS], small[SUMS];
    UNROLL for (int e = 0; e < SUMS; e++) total[e] = small[e] = 0.0f;
    ROLLED for (int first = 0; first < ALL_SLABS; first += SUMMED) {
        float big[SUMS];
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
    UNROLL for (int e = 0; e < SUMS; e++) sum[e] = fmaf(small[e], 1.0f / LOW_SCALE, total[e]);
}

// A warp walks down a task's rows of windows.  Sums are 2^exponents times too small.
__device__ __forceinline__ void do_task(const float* tile, word b, const int exponents[GROUPS],
                                        struct floors least, const float shift[GROUPS],
                                        const float* image, const float* weights,
                                        float* results WHERE_ARGUMENT, int map, int window,
                                        int top, int start)
{
    const float* patch = tile + 2 * start * PITCH + 2 * window + 2 * (threadIdx.x % 4);
    const int at = map * MAP_PITCH + window / WINDOWS_RIGHT;
    struct slab a[2];
    load_slab(patch, 0, &a[0]);
    struct pooled most[GROUPS][2];
    bool doubtful = false;
    ROLLED for (int step = 0; step < STEPS; step++) {
        float sum[SUMS];
        const float* next = patch + (step + 1 < STEPS ? 2 * PITCH : 0);
        multiply(patch, next, b, a, sum);
        patch = next;
        UNROLL for (int e = 0; e < 2 * GROUPS; e++) {
            int m = e / 2, half = e % 2;
            struct pooled four =
                four_scaled_back(sum + 8 * m, half, shift[m], exponents[m], least);
            const int to = at + 4 * m * MAP_PITCH;
            doubtful |= pool_step(four, &most[m][half], shift[m], step, start, half,
                                  results + to WHERE(to), map + 4 * m, window, top);
        }
    }
    repair_task(doubtful, image, weights, shift, results WHERE(0), map, window, top, start);
}

// A team takes band after band, through one buffer, or through two with the next band's copies
// under way.
__device__ __forceinline__ void bands(const float* x, const float* weights, float* out,
                                      int images, float* tiles, word b,
                                      const int exponents[GROUPS], float weights_least,
                                      const float shift[GROUPS] WHERE_ARGUMENT)
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
        const size_t to = (size_t)(band / BANDS) * RESULT_SIZE + top * COLUMNS;
        // Spare warps repeat a task: four multiply together.
        for (int task = MEMBER / 32; task < TASKS; task += WORKERS)
            do_task(tile, b, back, least, shift, image, weights, out + to WHERE(to), lane % 4,
                    task % STRIPS * 8 + lane / 4, top, task / STRIPS % SEGMENTS * STEPS);
    }
}

__global__ RESIDENT_BOUNDS(THREADS, LEAST_BLOCKS) void conv2d(
    const float* x, const float* weights, const float* bias, float* __restrict__ out,
    int images WHERE_ARGUMENT)
{
    extern __shared__ __align__(128) char shared[];
    AWAIT_EARLIER();
    float* tiles = (float*)(shared + WEIGHT_BYTES) + threadIdx.x / TEAM * BUFFERS * BAND_SIZE;
    // What no copy reaches meets zeros of the mask, and must be finite.
    for (int e = MEMBER; e < BUFFERS * BAND_SIZE; e += TEAM) tiles[e] = 0.0f;
    float shift[GROUPS];
    int exponents[GROUPS];
    UNROLL for (int m = 0; m < GROUPS; m++) {
        int map = 4 * m + threadIdx.x % 4;
        shift[m] = map < MAPS ? bias[map] : 0.0f;
        exponents[m] = (int)weights[FOLDED + map];
    }
    for (int e = threadIdx.x; e < WEIGHT_BYTES / 16; e += THREADS)
        ((uint4*)shared)[e] = ((const uint4*)weights)[e];
    shared_ready();
    word b = PIECES_AT((unsigned)__cvta_generic_to_shared(shared), SLAB_BYTES / 2);
    __syncthreads();
    bands(x, weights, out, images, tiles, b, exponents, weights[FOLDED + 4 * MAP_GROUPS],
          shift WHERE(0));
}
