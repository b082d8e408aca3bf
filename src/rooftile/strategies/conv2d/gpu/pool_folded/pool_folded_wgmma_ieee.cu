// pool_folded_wgmma_ieee: float32 as two numbers of float16, the pool folded on
// warpgroups.
//
// As pool_folded_wgmma_tf32, but each number is split in two of float16, x = high + low,
// and three products stand for one.  A band is scaled by its own largest number, and each map's
// weights by theirs, as `common/scaled.h` says.  A band is split once: its high numbers lie in a tile,
// its low ones in another.  Products of high numbers are summed apart, SUMMED slabs at a time: cores
// truncate sums, and short sums keep that below float32's error.  Products with low numbers are too
// small for it to matter.  Results that are in doubt become NaN, which `repair` finds.
// What it removes: float32's arithmetic on the cores that every program shares.
//
// x[images][CHANNELS][HEIGHT][WIDTH];
// weights: `split.h` says how it splits them; bias[MAPS];
// out[images][MAPS][ROWS][COLUMNS].
// Block: WARPS warps, in warpgroups that have bands of their own, see `warpgroup_bands.h`.  A warp
// takes tasks, for all maps.  `folded.h` says what a band, a strip and a task are.

#define FAMILY pool_folded_wgmma_ieee
#include "common/scaled.h"
#define SLAB_BYTES (1024 * MAP_GROUPS)
#define WEIGHT_BYTES (ALL_SLABS * SLAB_BYTES)
#define LOW(b) ((b) + (SLAB_BYTES / 4 >> 4))
#include "conv2d/gpu/pool_folded/warpgroup_bands.h"

// Two rows of a patch for a lane's two windows, as an instruction takes them.
struct slab { pair high[4], low[4]; };

// Slabs of a lane: two that are multiplied, and the next one.
#define BUFFERED 3

__device__ __forceinline__ float tap(const float* weights, int map, int c, int p, int q)
{
    return weights[FOLDED + 4 * MAP_GROUPS + 1 +
                   ((map * CHANNELS + c) * MASK_HEIGHT + p) * MASK_WIDTH + q];
}

__device__ __forceinline__ void load_slab(const narrow* patch, int s, struct slab* a)
{
    // Slabs beyond the last repeat it; their weights are zeros.
    if (s >= SLABS) s = SLABS - 1;
    patch += s / PATCH_SLABS * TILE_SIZE + 2 * (s % PATCH_SLABS) * PITCH;
    UNROLL for (int e = 0; e < 4; e++) {
        const narrow* two = patch + e / 2 * PITCH + e % 2 * OTHER_WINDOW;
        a->high[e] = *(const volatile pair*)two;
        a->low[e] = *(const volatile pair*)(two + BAND_SIZE);
    }
}

// Begins a slab's products.  They may still be under way after that: what they read must stay until
// they are complete.
__device__ __forceinline__ void begin(const struct slab* a, word b, bool first,
                                      float big[SUMS], float small[SUMS])
{
    wgmma_fence();
    if (first)
        WGMMA_FIRST(big, a->high, b);
    else
        WGMMA_NEXT(big, a->high, b);
    WGMMA_NEXT(small, a->high, LOW(b));
    WGMMA_NEXT(small, a->low, b);
    wgmma_commit();
}

// Adds what a run of slabs has come to.
__device__ __forceinline__ void add_run(float big[SUMS], float total[SUMS])
{
    WGMMA_WAIT_FOR(big);
    UNROLL for (int e = 0; e < SUMS; e++) total[e] += big[e];
}

// Multiplies the patches of a row of windows by all folded masks; sums are still scaled.  While slabs
// are multiplied, the next one is read.
__device__ __forceinline__ void multiply(const narrow* patch, word b, struct slab a[BUFFERED],
                                         float sum[SUMS])
{
    float total[SUMS], small[SUMS];
    UNROLL for (int e = 0; e < SUMS; e++) total[e] = small[e] = 0.0f;
    UNROLL for (int first = 0; first < ALL_SLABS; first += SUMMED) {
        float big[SUMS];
        UNROLL for (int s = first; s < first + SUMMED; s++) {
            begin(&a[s % BUFFERED], b + s * (SLAB_BYTES >> 4), s == first, big, small);
            // The memory of the slab before the last one is free.
            if (s + 1 < ALL_SLABS) load_slab(patch, s + 1, &a[(s + 1) % BUFFERED]);
            WGMMA_WAIT(1);
        }
        add_run(big, total);
    }
    WGMMA_WAIT_FOR(small);
    UNROLL for (int e = 0; e < SUMS; e++) sum[e] = fmaf(small[e], 1.0f / LOW_SCALE, total[e]);
}

__device__ __forceinline__ void do_task(const narrow* tile, word b, struct scales scales,
                                        const float shift[GROUPS], const float* image,
                                        const float* weights, float* results WHERE_ARGUMENT,
                                        int map, int window, int top, int start)
{
    const narrow* patch = tile + 2 * start * PITCH + 2 * window + 2 * (threadIdx.x % 4);
    const int at = map * MAP_PITCH + window / WINDOWS_RIGHT;
    struct slab a[BUFFERED];
    load_slab(patch, 0, &a[0]);
    struct pooled most[GROUPS][HALVES];
    bool doubtful = false;
    ROLLED for (int step = 0; step < STEPS; step++) {
        float sum[SUMS];
        multiply(patch, b, a, sum);
        if (step + 1 < STEPS) patch += 2 * PITCH;
        load_slab(patch, 0, &a[0]);
        UNROLL for (int e = 0; e < HALVES * GROUPS; e++) {
            int m = e / HALVES, half = e % HALVES, exponent = scales.exponents[m];
            struct pooled fold = of_scaled_four(sum + 8 * m, half, shift[m], exponent,
                                                scales.least);
            const int to = at + 4 * m * MAP_PITCH;
            doubtful |= pool_scaled_step(fold, &most[m][half], shift[m], exponent, scales.least,
                                         step, start, half, results + to WHERE(to), map + 4 * m,
                                         window, top);
        }
    }
    repair_task(doubtful, image, weights, shift, results WHERE(0), map, window, top, start);
}

__global__ RESIDENT_BOUNDS(THREADS, LEAST_BLOCKS) void pool_folded_wgmma_ieee(
    const float* x, const float* weights, const float* bias, float* __restrict__ out,
    int images WHERE_ARGUMENT)
{
    extern __shared__ __align__(128) char shared[];
    GRIDDEPCONTROL_WAIT();
    do_block(x, weights, bias, out, images, shared WHERE(0));
}
