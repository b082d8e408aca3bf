// Rungs 1 and 2 of a network's ladder, front: two convolution blocks without leaving the
// multiprocessor.
//
// Both blocks fold their pool into the columns of a matrix product (rung 19 of conv2d,
// pool_folded).  A persistent block of threads sends images through a pipeline of roles: one
// warpgroup fetches the next image into registers and puts it, in the cores' type, into a ring
// of tiles; warps of the first block make of it, in another ring, the image that warpgroups of
// the second block read.  So one image is loaded while the next roles multiply others, and what
// lies between the blocks never exists in device memory.  Within a role the product of the next
// row of windows runs while the present one is pooled.  The first block's few columns would
// leave a warpgroup's instruction waiting for its operands, so its warps multiply by mma.sync,
// weights in registers; the second's are wide enough for Hopper's wgmma.
// What it removes: the traffic between the blocks, and the ends of their kernels, where
// multiprocessors wait.
//
// x[images][CHANNELS_1][HEIGHT_1][WIDTH_1] in float or, with X_NARROW, in the cores' own type;
// weights_1 and weights_2 folded, as pool_folded has them for warps and for warpgroups;
// bias_1[MAPS_1], bias_2[MAPS_2];
// out[images][MAPS_2][ROWS_2][COLUMNS_2] in float or, with OUT_NARROW, in the cores' own type.
// Grid: persistent blocks.
// Block: a warpgroup that loads, GROUPS_1 warpgroups of the first block, GROUPS_2 of the second.

#include "common/formats.h"
#include "common/fused.h"
#include "common/mma.h"
#include "common/narrow.h"
#include "common/rounded.h"
#include "common/warpgroups.h"

#define IMAGE_1 (CHANNELS_1 * HEIGHT_1 * WIDTH_1)
#define PIECES ((IMAGE_1 / 4 + 127) / 128)

// A block's sizes.  Its image lies in a tile of shared memory, rows PITCH apart, channels PLANE.  A
// fold's window is two by two, and a pool's window has DOWN x RIGHT of them.  A strip is eight
// windows wide.  A task is STEPS rows of a strip's windows in the image's upper half, a row a step,
// and as many in its lower half.  (The band of `pool_folded` is here a whole image.)  A thread's
// sums are as in `folded.h`, eight of each group of four maps; it has SETS of them, one for each
// row of windows under way.
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
    // So many of a warpgroup's four warps share out the groups of maps; 4 / SPREAD share out tasks.
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
        begin_products();
        START(sum, a[0][step % RING], b);
        UNROLL for (int e = 1; e < SLABS; e++)
            ADD(sum, a[e / PATCH_SLABS][(step + e % PATCH_SLABS) % RING],
                b + e * (512 * MAP_GROUPS >> 4));
        end_products();
    }

    template <int LATER> static __device__ __forceinline__ void complete(sums& sum)
    {
        if (LATER) COMPLETE(sum, 1);
        else COMPLETE(sum, 0);
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

// Whether a lane holds a result.  The compiler sees that all do where the sizes leave none over.
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

// Where things are in shared memory.
struct places {
    const narrow *weights_1, *weights_2;
    narrow *tiles, *between;
    unsigned tile_barriers, between_barriers;
};

// A block's image number `turn` has the place AT in a ring, when the ring has gone round ROUND
// times, modulo 2.
#define AT(turn, count) ((turn) % (count))
#define ROUND(turn, count) ((turn) / (count) & 1)
#define IMAGES(turn, first, step)                                                              \
    (int turn = (first); blockIdx.x + turn * gridDim.x < images; turn += (step))

// Four numbers of an image, as they lie in memory and as they lie in a tile.
#if X_NARROW
typedef uint2 piece;
#define NARROW_PIECE(p) (p)
#else
typedef float4 piece;
#define NARROW_PIECE(p) make_uint2(pack((p).x, (p).y), pack((p).z, (p).w))
#endif

// The loading role fetches the next image into registers while the ring still holds others.
__device__ __forceinline__ void fetch(const piece* image, piece held[PIECES])
{
    UNROLL for (int e = 0; e < PIECES; e++)
        if (128 * e + 128 <= IMAGE_1 / 4 || threadIdx.x + 128 * e < IMAGE_1 / 4)
            held[e] = __ldcs(image + threadIdx.x + 128 * e);
}

__device__ __forceinline__ void load_images(const given* x, struct places in, int images)
{
    piece held[PIECES];
    fetch((const piece*)(x + (size_t)blockIdx.x * IMAGE_1), held);
    for IMAGES(turn, 0, 1) {
        const int at = AT(turn, TILES);
        wait(EMPTY(in.tile_barriers, at, TILES), ROUND(turn, TILES) ^ 1);
        uint2* tile = (uint2*)(in.tiles + at * TILE_1) + threadIdx.x;
        UNROLL for (int e = 0; e < PIECES; e++)
            if (128 * e + 128 <= IMAGE_1 / 4 || threadIdx.x + 128 * e < IMAGE_1 / 4)
                tile[128 * e] = NARROW_PIECE(held[e]);
        arrive(FULL(in.tile_barriers, at));
        size_t next = blockIdx.x + (size_t)(turn + 1) * gridDim.x;
        if (next < images) fetch((const piece*)(x + next * IMAGE_1), held);
    }
}

__device__ __forceinline__ void first_role(const float* bias, struct places in, int warpgroup,
                                           int images)
{
    const int warp = threadIdx.x / 32 % 4, maps = warp % first::SPREAD;
    float shift[first::GROUPS];
    biases<first>(bias, maps, shift);
    first::weights b;
    if (maps < first::MAP_GROUPS)
        UNROLL for (int s = 0; s < first::SLABS; s++)
            UNROLL for (int e = 0; e < 4; e++) {
                int at = (maps * first::SLABS + s) * 4 + e;
                b.at[s][e] = ((const pair*)in.weights_1)[at * 32 + threadIdx.x % 32];
            }
    for IMAGES(turn, warpgroup, GROUPS_1) {
        const int at = AT(turn, TILES), to = AT(turn, BETWEEN);
        wait(FULL(in.tile_barriers, at), ROUND(turn, TILES));
        wait(EMPTY(in.between_barriers, to, BETWEEN), ROUND(turn, BETWEEN) ^ 1);
        const int tasks = maps < first::MAP_GROUPS ? first::TASKS : 0;
        ROLLED for (int n = warp / first::SPREAD; n < tasks; n += 4 / first::SPREAD)
            task<first>(in.tiles + at * TILE_1, in.weights_1, b, bias, shift, maps, n,
                        in.between + to * TILE_2, second::PITCH, second::PLANE);
        arrive(EMPTY(in.tile_barriers, at, TILES));
        arrive(FULL(in.between_barriers, to));
    }
}

__device__ __forceinline__ void second_role(const float* bias, result* out,
                                            struct places in, int warpgroup, int images)
{
    const int size = ROWS_2 * COLUMNS_2;
    float shift[second::GROUPS];
    biases<second>(bias, 0, shift);
    word b = PIECES_AT((unsigned)__cvta_generic_to_shared(in.weights_2), 256 * second::MAP_GROUPS);
    for IMAGES(turn, warpgroup, GROUPS_2) {
        const int at = AT(turn, BETWEEN);
        wait(FULL(in.between_barriers, at), ROUND(turn, BETWEEN));
        result* to = out + (blockIdx.x + (size_t)turn * gridDim.x) * (MAPS_2 * size);
        ROLLED for (int n = threadIdx.x / 32 % 4; n < second::TASKS; n += 4)
            task<second>(in.between + at * TILE_2, in.weights_2, b, bias, shift, 0, n, to,
                         COLUMNS_2, size);
        arrive(EMPTY(in.between_barriers, at, BETWEEN));
    }
}

__global__ __launch_bounds__(THREADS, 1) void front(
    const given* __restrict__ x, const narrow* __restrict__ weights_1,
    const float* __restrict__ bias_1, const narrow* __restrict__ weights_2,
    const float* __restrict__ bias_2, result* __restrict__ out, int images)
{
    extern __shared__ __align__(128) char shared[];
    struct places in;
    in.weights_1 = (const narrow*)shared;
    in.weights_2 = in.weights_1 + first::BYTES / 2;
    in.tiles = (narrow*)(shared + first::BYTES + second::BYTES);
    in.between = in.tiles + TILES * TILE_1;
    in.tile_barriers = (unsigned)__cvta_generic_to_shared(in.between + BETWEEN * TILE_2);
    in.between_barriers = in.tile_barriers + 16 * TILES;
    ROLLED for (int e = threadIdx.x; e < first::BYTES / 16; e += THREADS)
        ((uint4*)shared)[e] = ((const uint4*)weights_1)[e];
    ROLLED for (int e = threadIdx.x; e < second::BYTES / 16; e += THREADS)
        ((uint4*)(shared + first::BYTES))[e] = ((const uint4*)weights_2)[e];
    // What no image fills meets zeros of the masks, and must be finite.
    const int zeros = (TILES * TILE_1 + BETWEEN * TILE_2) / 8;
    ROLLED for (int e = threadIdx.x; e < zeros; e += THREADS)
        ((uint4*)in.tiles)[e] = make_uint4(0, 0, 0, 0);
    // A buffer is handed over by every thread of the warpgroup that has read or written it.
    if (threadIdx.x == 0)
        for (int e = 0; e < 2 * (TILES + BETWEEN); e++) expect(128, in.tile_barriers + 8 * e);
    barriers_ready();
    shared_ready();
    __syncthreads();
    int warpgroup = threadIdx.x / 128;
    if (warpgroup == 0) {
        REGISTERS_0;
        load_images(x, in, images);
    } else if (warpgroup <= GROUPS_1) {
        REGISTERS_1;
        first_role(bias_1, in, warpgroup - 1, images);
    } else {
        REGISTERS_2;
        second_role(bias_2, out, in, warpgroup - 1 - GROUPS_1, images);
    }
}
