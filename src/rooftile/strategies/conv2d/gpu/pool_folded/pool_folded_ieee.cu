// pool_folded_ieee: float32 as two numbers of float16, the pool folded, for few maps.
//
// As pool_folded_wgmma_ieee, for maps too few for a warpgroup's instructions.  A warp
// multiplies by itself, as in pool_folded: the weights, high numbers and low ones, stay in
// its registers, through which the patches' slabs rotate, so that a step reads one slab of a channel
// and not all of them.  All warps of a block split its band together.
// What it removes: float32's arithmetic on the cores that every program shares, where maps are few.
//
// x[images][CHANNELS][HEIGHT][WIDTH];
// weights: `split.h` says how it splits them; bias[MAPS];
// out[images][MAPS][ROWS][COLUMNS].
// Block: WARPS warps.  A warp takes tasks, for a group of four maps.  `folded.h` says what a band, a
// strip and a task are.

#define FAMILY pool_folded_ieee
#include "common/mma.h"
#include "common/pipelines/pdl.h"
#include "conv2d/gpu/pool_folded/split_band.h"

#define RING PATCH_SLABS

// A warp's weights: for each slab high numbers, then low ones.
typedef pair numbers[SLABS][2][4];

// Multiplies the patches of a row of windows by a group's folded masks; sums are still scaled.
// Products of high numbers are summed apart, SUMMED slabs at a time.
__device__ __forceinline__ void multiply(const struct slab a[CHANNELS][RING], int turn,
                                         const numbers b, float sum[SUMS])
{
    float big[SUMS], small[SUMS];
    UNROLL for (int e = 0; e < SUMS; e++) big[e] = small[e] = 0.0f;
    UNROLL for (int s = 0; s < SLABS; s++) {
        const struct slab* own = &a[s / PATCH_SLABS][(turn + s % PATCH_SLABS) % RING];
        UNROLL for (int t = 0; t < 2; t++) {
            multiply_add(big + 4 * t, own->high, b[s][0] + 2 * t);
            multiply_add(small + 4 * t, own->high, b[s][1] + 2 * t);
            multiply_add(small + 4 * t, own->low, b[s][0] + 2 * t);
        }
        if (s % SUMMED == SUMMED - 1 || s == SLABS - 1)
            UNROLL for (int e = 0; e < SUMS; e++) {
                sum[e] = s < SUMMED ? big[e] : sum[e] + big[e];
                big[e] = 0.0f;
            }
    }
    UNROLL for (int e = 0; e < SUMS; e++) sum[e] = fmaf(small[e], 1.0f / LOW_SCALE, sum[e]);
}

// Reads the slabs that are new at a task's step. Were these loads not volatile, the compiler would
// join the loads of both numbers, and move each to its instruction's registers every time.
__device__ __forceinline__ void load_step(const float* patch, int step, int turn,
                                          struct slab a[CHANNELS][RING])
{
    UNROLL for (int c = 0; c < CHANNELS; c++)
        UNROLL for (int e = 0; e < 4; e++) {
            const volatile pair* from = (const volatile pair*)patch + c * TILE_SIZE +
                                        (2 * step + 2 * HALF_STEPS * (e % 2) + e / 2) * PITCH;
            a[c][turn % RING].high[e] = from[0], a[c][turn % RING].low[e] = from[1];
        }
}

// A warp walks down a task's rows of windows.  Sums are 2^exponent times too small.
__device__ __forceinline__ void do_task(const float* tile, const numbers b, int exponent,
                                        struct floors least, const float shift[GROUPS],
                                        const float* image, const float* weights,
                                        float* results WHERE_ARGUMENT, int map, int window,
                                        int top, int start)
{
    const float* patch = tile + 2 * start * PITCH + 2 * window + 2 * (threadIdx.x % 4);
    const int at = map * MAP_PITCH + window / WINDOWS_RIGHT;
    struct slab a[CHANNELS][RING];
    UNROLL for (int s = 0; s < RING - 1; s++) load_step(patch, s, s, a);
    struct pooled most[2];
    bool doubtful = false;
    ROLLED for (int first = 0; first < STEPS; first += RING)
        UNROLL for (int u = 0; u < RING; u++) {
            int step = first + u;
            if (STEPS % RING && step >= STEPS) break;
            float sum[SUMS];
            load_step(patch, step + RING - 1, u + RING - 1, a);
            multiply(a, u, b, sum);
            UNROLL for (int half = 0; half < 2; half++) {
                struct pooled fold = of_scaled_four(sum, half, shift[0], exponent, least);
                doubtful |= pool_scaled_step(fold, &most[half], shift[0], exponent, least, step,
                                             start, half, results + at WHERE(at), map, window,
                                             top);
            }
        }
    repair_task(doubtful, image, weights, shift, results WHERE(0), map, window, top, start);
}

// A block takes band after band, through one buffer, or through two with the next band's copies
// under way.
__device__ __forceinline__ void bands(const float* x, const float* weights, float* out,
                                      int images, float* tiles, const numbers b, int exponent,
                                      float weights_least, const float shift[GROUPS], int map,
                                      int worker WHERE_ARGUMENT)
{
    int band = blockIdx.x;
    if (FLAT && BUFFERS == 2 && band < images * BANDS) start_band(x, band, tiles);
    for (int turn = 0; band < images * BANDS; band += gridDim.x, turn ^= BUFFERS - 1) {
        float* tile = tiles + turn * BAND_SIZE;
        await_band(x, band, tile);
        if (FLAT) clear_rest(tile, band);
        meet();
        if (FLAT && BUFFERS == 2 && band + gridDim.x < images * BANDS)
            start_band(x, band + gridDim.x, tiles + (turn ^ 1) * BAND_SIZE);
        struct range range = range_of(tile);
        struct floors least = floors_of(range, weights_least);
        int scale = scale_of(range), top = band % BANDS * BAND_ROWS;
        split(tile, power(scale));
        meet();
        const float* image = x + (size_t)(band / BANDS) * IMAGE_SIZE;
        const size_t to = (size_t)(band / BANDS) * RESULT_SIZE + top * COLUMNS;
        for (int task = worker; task < TASKS; task += WORKERS)
            do_task(tile, b, exponent - scale, least, shift, image, weights, out + to WHERE(to),
                    map, task % STRIPS * 8 + threadIdx.x % 32 / 4, top,
                    task / STRIPS % SEGMENTS * STEPS);
    }
}

__global__ RESIDENT_BOUNDS(THREADS, LEAST_BLOCKS) void pool_folded_ieee(
    const float* x, const float* weights, const float* bias, float* __restrict__ out,
    int images WHERE_ARGUMENT)
{
    extern __shared__ __align__(128) char shared[];
    GRIDDEPCONTROL_WAIT();
    float* tiles = (float*)shared;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int group = warp % MAP_GROUPS, map = group * 4 + lane % 4;
    // Memory that no copy reaches meets zeros of the mask, and must be finite.
    for (int e = threadIdx.x; e < BUFFERS * BAND_SIZE; e += THREADS) tiles[e] = 0.0f;
    float shift[GROUPS] = {map < MAPS ? bias[map] : 0.0f};
    numbers b;
    UNROLL for (int s = 0; s < 2 * SLABS; s++)
        UNROLL for (int e = 0; e < 4; e++)
            b[s / 2][s % 2][e] =
                ((const pair*)weights)[((group * SLABS * 2 + s) * 4 + e) * 32 + lane];
    __syncthreads();
    bands(x, weights, out, images, tiles, b, (int)weights[FOLDED + map],
          weights[FOLDED + 4 * MAP_GROUPS], shift, map, warp / MAP_GROUPS WHERE(0));
}
