// The two blocks of `front`: their sizes, how each multiplies, and how a warp makes rows of a block's
// results of an image in shared memory.

#pragma once

#include "common/formats.h"
#include "common/fused.h"
#include "common/mma.h"
#include "common/narrow.h"
#include "common/rounded.h"
#include "common/pipelines/stages.h"
#include "common/pipelines/wgmma.h"

// A block's sizes. Its image is in a tile of shared memory, rows PITCH apart, channels PLANE. A
// fold's window is two by two, and a pool's window has DOWN x RIGHT of them. A strip is eight
// windows wide. A task is STEPS rows of a strip's windows in the image's upper half, a row a step,
// and as many in its lower half. (The band of `pool_folded` is here a whole image.) A thread's sums
// are as in `pooled.h`, eight of each group of four maps; it has SETS of them, one for each row of
// windows in flight.
#define SIZES(n)                                                                                \
    static constexpr int CHANNELS = CHANNELS_##n, PITCH = WIDTH_##n, PLANE = PLANE_##n;         \
    static constexpr int ROWS = ROWS_##n, COLUMNS = COLUMNS_##n, MAPS = MAPS_##n;               \
    static constexpr int MASK_H = MASK_HEIGHT_##n, MASK_W = MASK_WIDTH_##n;                     \
    static constexpr int POOL_H = POOL_HEIGHT_##n, POOL_W = POOL_WIDTH_##n;                     \
    static constexpr int PATCH_SLABS = (MASK_H + 2) / 2, RING = PATCH_SLABS + SETS_##n - 1;     \
    static constexpr int MAP_GROUPS = (MAPS + 3) / 4, SETS = SETS_##n;                          \
    static constexpr int DOWN = POOL_H / 2, RIGHT = POOL_W / 2, HALF_ROWS = (ROWS + 1) / 2;     \
    static constexpr int WINDOWS = COLUMNS * RIGHT, STRIPS = (WINDOWS + 7) / 8;                 \
    static constexpr int SEGMENTS = SEGMENTS_##n, STEPS = HALF_ROWS * DOWN / SEGMENTS;          \
    static constexpr int SLABS = CHANNELS * PATCH_SLABS, BYTES = 512 * MAP_GROUPS * SLABS;

extern "C++" {

// Warps that multiply on their own: each has one group of maps, whose weights it holds in
// registers.
struct first {
    SIZES(1)
    static constexpr int GROUPS = 1, TASKS = STRIPS * SEGMENTS;
    // Number of a warpgroup's four warps that share out the groups of maps; 4 / SPREAD share out
    // tasks.
    static constexpr int SPREAD = MAP_GROUPS < 3 ? MAP_GROUPS : 4;
    typedef float sums[8 * GROUPS];
    struct weights { pair at[SLABS][4]; };

    static __device__ __forceinline__ int tap(int map, int c, int p, int q)
    {
        int slab = map / 4 * SLABS + c * PATCH_SLABS + p / 2;
        return ((slab * 4 + p % 2) * 32 + map % 4 * 8 + q / 2) * 2 + q % 2;
    }

    static __device__ __forceinline__ void begin(const pair a[CHANNELS][RING][4], int step,
                                                 const weights& b, sums& sum)
    {
        UNROLL for (int e = 0; e < 8; e++) sum[e] = 0.0f;
        UNROLL for (int e = 0; e < SLABS; e++)
            UNROLL for (int t = 0; t < 2; t++)
                multiply_add(sum + 4 * t, a[e / PATCH_SLABS][(step + e % PATCH_SLABS) % RING],
                             b.at[e] + 2 * t);
    }

    template <int LATER> static __device__ __forceinline__ void complete(sums&) {}
};

// Four warps that multiply together: they have all maps, whose weights lie in shared memory.
struct second {
    SIZES(2)
    static constexpr int GROUPS = MAP_GROUPS, TASKS = (STRIPS * SEGMENTS + 3) / 4 * 4;
    typedef float sums[8 * GROUPS];
    typedef word weights;

    static __device__ __forceinline__ int tap(int map, int c, int p, int q)
    {
        int row = (c * PATCH_SLABS + p / 2) * 2 + p % 2;
        return (row * MAP_GROUPS + map / 4) * 128 + map % 4 * 16 + q;
    }

    // The product is still under way after that: what it reads must stay until it is complete.
    static __device__ __forceinline__ void begin(const pair a[CHANNELS][RING][4], int step,
                                                 weights b, sums& sum)
    {
        wgmma_fence();
        WGMMA_FIRST(sum, a[0][step % RING], b);
        UNROLL for (int e = 1; e < SLABS; e++)
            WGMMA_NEXT(sum, a[e / PATCH_SLABS][(step + e % PATCH_SLABS) % RING],
                b + e * (512 * MAP_GROUPS >> 4));
        wgmma_commit();
    }

    template <int LATER> static __device__ __forceinline__ void complete(sums& sum)
    {
        if (LATER) WGMMA_WAIT_FOR(sum, 1);
        else WGMMA_WAIT_FOR(sum, 0);
    }
};

__device__ __forceinline__ void put(float* place, float y) { *place = y; }
__device__ __forceinline__ void put(narrow* place, float y) { *place = NARROW(y); }
__device__ __forceinline__ bool is_nan(float y) { return y != y; }
__device__ __forceinline__ bool is_nan(narrow y) { return widened(y) != widened(y); }

// Computes a result from its definition, where a zero of the folded mask met an infinity or NaN.
template <class B>
__device__ __noinline__ float directly(const narrow* tile, const narrow* weights, float shift,
                                       int map, int row, int column)
{
    float pooled = -INFINITY;
    ROLLED for (int position = 0; position < B::POOL_H * B::POOL_W; position++) {
        const narrow* window = tile + (row * B::POOL_H + position / B::POOL_W) * B::PITCH +
                               column * B::POOL_W + position % B::POOL_W;
        float sum = 0.0f;
        ROLLED for (int k = 0; k < B::CHANNELS * B::MASK_H * B::MASK_W; k++) {
            int c = k / (B::MASK_H * B::MASK_W), p = k / B::MASK_W % B::MASK_H, q = k % B::MASK_W;
            sum += widened(weights[B::tap(map, c, p, q)]) *
                   widened(window[c * B::PLANE + p * B::PITCH + q]);
        }
        pooled = maximum(pooled, activate(sum + shift));
    }
    return pooled;
}

// True if a lane holds a result. The compiler sees that all do where the sizes leave none over.
template <class B>
__device__ __forceinline__ bool held(int map, int window, int row)
{
    bool column = B::WINDOWS % 8 == 0 || window < B::WINDOWS;
    bool rows = B::ROWS % 2 == 0 || row < B::ROWS;
    return window % B::RIGHT == 0 && column && rows && (B::MAPS % 4 == 0 || map < B::MAPS);
}

// Loads the slabs that are new at a task's step, for a lane's two windows.
template <class B>
__device__ __forceinline__ void load(const narrow* patch, int step,
                                     pair a[B::CHANNELS][B::RING][4])
{
    UNROLL for (int c = 0; c < B::CHANNELS; c++) {
        const narrow* row = patch + c * B::PLANE + 2 * step * B::PITCH;
        const narrow* below = row + 2 * B::HALF_ROWS * B::DOWN * B::PITCH;
        pair* slab = a[c][step % B::RING];
        slab[0] = *(const pair*)row, slab[1] = *(const pair*)below;
        slab[2] = *(const pair*)(row + B::PITCH), slab[3] = *(const pair*)(below + B::PITCH);
    }
}

// A warp walks down a task's rows of windows, and the patches' slabs pass through its registers.
// `to` is the image of its results, rows `pitch` and maps `plane` apart.
template <class B, class To>
__device__ __forceinline__ void task(const narrow* tile, const narrow* weights,
                                     const typename B::weights& b, const float* bias,
                                     const float* shift, int group, int number, To* to, int pitch,
                                     int plane)
{
    int map = 4 * group + threadIdx.x % 4, window = number % B::STRIPS * 8 + threadIdx.x % 32 / 4;
    int start = number / B::STRIPS % B::SEGMENTS * B::STEPS, top = start / B::DOWN;
    const narrow* patch = tile + 2 * start * B::PITCH + 2 * window + 2 * (threadIdx.x % 4);
    To* place = to + map * plane + top * pitch + window / B::RIGHT;
    pair a[B::CHANNELS][B::RING][4];
    typename B::sums sum[B::SETS];
    float most[B::GROUPS][2];
    bool doubtful = false;
    UNROLL for (int s = 0; s < B::PATCH_SLABS; s++) load<B>(patch, s, a);
    B::begin(a, 0, b, sum[0]);
    UNROLL for (int step = 0; step < B::STEPS; step++) {
        const bool next = step + 1 < B::STEPS;
        if (B::SETS == 2 && next) {
            load<B>(patch, step + B::PATCH_SLABS, a);
            B::begin(a, step + 1, b, sum[(step + 1) % B::SETS]);
            B::template complete<1>(sum[step % B::SETS]);
        } else {
            B::template complete<0>(sum[step % B::SETS]);
            if (next) load<B>(patch, step + B::PATCH_SLABS, a);
        }
        UNROLL for (int e = 0; e < 2 * B::GROUPS; e++) {
            const int m = e / 2, half = e % 2, row = half * B::HALF_ROWS + step / B::DOWN;
            const float* above = sum[step % B::SETS] + 8 * m + 2 * half;
            const float* below = above + 4;
            float y = maximum(maximum(above[0], above[1]), maximum(below[0], below[1]));
            most[m][half] = step % B::DOWN ? maximum(most[m][half], y) : y;
            if ((step + 1) % B::DOWN) continue;
            y = most[m][half];
            UNROLL for (int apart = 1; apart < B::RIGHT; apart *= 2)
                y = maximum(y, __shfl_xor_sync(~0u, y, 4 * apart));
            y = activate(y + shift[m]);
            doubtful |= y != y;
            if (held<B>(map + 4 * m, window, top + row))
                put(place + 4 * m * plane + row * pitch, y);
        }
        if (B::SETS == 1 && next) B::begin(a, step + 1, b, sum[0]);
    }
    // A zero of the folded mask makes NaN of an infinity that no mask should have met.
    if (__any_sync(~0u, doubtful))
        ROLLED for (int e = 0; e < 2 * B::GROUPS * (B::STEPS / B::DOWN); e++) {
            int m = e / 2 % B::GROUPS, row = e % 2 * B::HALF_ROWS + e / 2 / B::GROUPS;
            To* doubted = place + 4 * m * plane + row * pitch;
            if (held<B>(map + 4 * m, window, top + row) && is_nan(*doubted))
                put(doubted, directly<B>(tile, weights, bias[map + 4 * m], map + 4 * m, top + row,
                                         window / B::RIGHT));
        }
}

template <class B>
__device__ __forceinline__ void biases(const float* bias, int group, float shift[B::GROUPS])
{
    UNROLL for (int m = 0; m < B::GROUPS; m++) {
        int map = 4 * (group + m) + threadIdx.x % 4;
        shift[m] = map < B::MAPS ? bias[map] : 0.0f;
    }
}
}
