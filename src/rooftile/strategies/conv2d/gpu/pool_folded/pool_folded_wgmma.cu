// pool_folded_wgmma: the pool folded on warpgroups of Hopper.
//
// As pool_folded, but four warps multiply 64 windows with the folded masks of all maps at
// once. The weights are in shared memory, where the cores read them; the slabs of patches rotate
// through registers, so that a step reads one slab of a channel. Where folds of a pool's window are
// adjacent, a lane has both, and no lane needs a shuffle.
// What it removes: weights in every warp's registers, which hold few maps'.
//
// pool_folded_wgmma_tf32, is the same with SCALED numbers: float16 has TF32's bits, and the
// cores multiply it at twice the rate.  Results that are in doubt become NaN, which `repair` finds.
//
// x[images][CHANNELS][HEIGHT][WIDTH] in float or, with X_NARROW, in the cores' own type;
// weights[SLABS][2 rows][MAP_GROUPS][2 rows of windows][8 columns][8 deep] in that type, rounded by
// a kernel before; with SCALED, `split.h` says what follows them; bias[MAPS];
// out[images][MAPS][ROWS][COLUMNS] in float or, with OUT_NARROW, in the cores' own type.
// Block: WARPS warps, in warpgroups that have bands of their own, see `warpgroup_bands.h`.  A warp
// takes tasks, for all maps.  `folded.h` says what a band, a strip and a task are.

#define FAMILY pool_folded_wgmma
#if SCALED
#include "common/scaled.h"
#undef VALUE
#define VALUE(x) tf32(x)
#else
#include "common/rounded.h"
#endif
#define SLAB_BYTES (512 * MAP_GROUPS)
#define WEIGHT_BYTES (SLABS * SLAB_BYTES)
#include "conv2d/gpu/pool_folded/warpgroup_bands.h"

__device__ __forceinline__ float tap(const element* weights, int map, int c, int p, int q)
{
#if SCALED
    return weights[FOLDED + 4 * MAP_GROUPS + 1 +
                   ((map * CHANNELS + c) * MASK_HEIGHT + p) * MASK_WIDTH + q];
#else
    int row = (c * PATCH_SLABS + p / 2) * 2 + p % 2, group = map / 4 * 2;
    return widened(
        ((const narrow*)weights)[(row * 2 * MAP_GROUPS + group) * 64 + map % 4 * 16 + q]);
#endif
}

// Loads the slabs that are new at a task's step: of each channel two rows of a patch, for a lane's
// two windows.
__device__ __forceinline__ void load_step(const narrow* patch, int step,
                                          pair a[CHANNELS][PATCH_SLABS][4])
{
    UNROLL for (int c = 0; c < CHANNELS; c++)
        UNROLL for (int e = 0; e < 4; e++)
            a[c][step % PATCH_SLABS][e] =
                *(const pair*)(patch + c * TILE_SIZE + (2 * step + e / 2) * PITCH +
                               e % 2 * OTHER_WINDOW);
}

// Multiplies the patches of a row of windows by all folded masks.
__device__ __forceinline__ void multiply(const pair a[CHANNELS][PATCH_SLABS][4], int step, word b,
                                         float sum[SUMS])
{
    wgmma_fence();
    WGMMA_FIRST(sum, a[0][step % PATCH_SLABS], b);
    UNROLL for (int e = 1; e < SLABS; e++)
        WGMMA_NEXT(sum, a[e / PATCH_SLABS][(step + e) % PATCH_SLABS], b + e * (SLAB_BYTES >> 4));
    wgmma_commit();
    WGMMA_WAIT_FOR(sum);
}

// Makes the compiler compute a lane's part of a window here, for a trap that never comes. It would
// put it off, and hold a step's sums together with the next step's, for which there are no
// registers.
__device__ __forceinline__ void known(struct pooled most)
{
#if WINNERS
    asm volatile("{ .reg .pred never; setp.lt.f32 never, %0, 0fFF800000; "
                 "setp.eq.and.s32 never, %1, -1, never; @never trap; }" ::"f"(most.sum),
                 "r"(most.place));
#else
    asm volatile("{ .reg .pred never; setp.lt.f32 never, %0, 0fFF800000; @never trap; }" ::"f"(
        most.sum));
#endif
}

// Pools what a step has come to, of one group of maps.  Returns whether a result is NaN.
__device__ __forceinline__ bool pool(float sum[8], struct pooled most[HALVES], int m, float shift,
                                     struct scales scales, int step, int start,
                                     result* results WHERE_ARGUMENT, int map, int window, int top)
{
    bool doubtful = false;
    UNROLL for (int half = 0; half < HALVES; half++) {
#if SCALED
        struct pooled fold =
            of_scaled_four(sum, half, shift, scales.exponents[m], scales.least);
        doubtful |= pool_scaled_step(fold, &most[half], shift, scales.exponents[m], scales.least,
                                     step, start, half, results WHERE(0), map, window, top);
#else
        doubtful |= pool_step(of_four(sum, half, shift), &most[half], shift, step, start, half,
                              results WHERE(0), map, window, top);
#endif
        known(most[half]);
    }
    return doubtful;
}

__device__ __forceinline__ void do_task(const narrow* tile, word b, struct scales scales,
                                        const float shift[GROUPS], const given* image,
                                        const element* weights, result* results WHERE_ARGUMENT,
                                        int map, int window, int top, int start)
{
    const narrow* patch = tile + 2 * start * PITCH + 2 * window + 2 * (threadIdx.x % 4);
    const int at = map * MAP_PITCH + window / WINDOWS_RIGHT;
    pair a[CHANNELS][PATCH_SLABS][4];
    UNROLL for (int s = 0; s < PATCH_SLABS; s++) load_step(patch, s, a);
    struct pooled most[GROUPS][HALVES];
    bool doubtful = false;
    ROLLED for (int first = 0; first < STEPS; first += PATCH_SLABS)
        UNROLL for (int u = 0; u < PATCH_SLABS; u++) {
            int step = first + u;
            if (STEPS % PATCH_SLABS && step >= STEPS) break;
            float sum[SUMS];
            multiply(a, u, b, sum);
            // The first of the slabs makes room for the next step's last one.
            if (step + 1 < STEPS) load_step(patch + 2 * first * PITCH, u + PATCH_SLABS, a);
            UNROLL for (int m = 0; m < GROUPS; m++) {
                const int to = at + 4 * m * MAP_PITCH;
                doubtful |= pool(sum + 8 * m, most[m], m, shift[m], scales, step, start,
                                 results + to WHERE(to), map + 4 * m, window, top);
            }
        }
    repair_task(doubtful, image, weights, shift, results WHERE(0), map, window, top, start);
}

__global__ RESIDENT_BOUNDS(THREADS, LEAST_BLOCKS) void pool_folded_wgmma(
    const given* x, const element* weights, const float* bias, result* __restrict__ out,
    int images WHERE_ARGUMENT)
{
    extern __shared__ __align__(128) char shared[];
    GRIDDEPCONTROL_WAIT();
    do_block(x, weights, bias, out, images, shared WHERE(0));
}
