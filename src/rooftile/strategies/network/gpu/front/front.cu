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
// x[images][CHANNELS_1][HEIGHT_1][WIDTH_1] float; weights_1 and weights_2 folded, as pool_folded
// has them for warps and for warpgroups; bias_1[MAPS_1], bias_2[MAPS_2]; out[images][MAPS_2][ROWS_2][COLUMNS_2]
// in float or, with OUT_NARROW, in the cores' own type.
// Grid: persistent blocks.  Block: a loading warpgroup, GROUPS_1 and GROUPS_2 others.

#include "common/formats.h"
#include "common/fused.h"
#include "common/mma.h"
#include "common/narrow.h"
#include "common/warpgroups.h"

#define IMAGE_1 (CHANNELS_1 * HEIGHT_1 * WIDTH_1)
#define PIECES ((IMAGE_1 / 4 + 127) / 128)

// A block's sizes: its image lies in a tile of shared memory, rows PITCH apart, channels PLANE.
// A fold's window is two by two, a pool's has DOWN x RIGHT of them.  A task is STEPS rows of eight
// windows beside each other, and as many half an image below.
#define SIZES(n)                                                                                \
    static constexpr int CHANNELS = CHANNELS_##n, PITCH = WIDTH_##n, PLANE = PLANE_##n;         \
    static constexpr int ROWS = ROWS_##n, COLUMNS = COLUMNS_##n, MAPS = MAPS_##n;               \
    static constexpr int MASK_H = MASK_HEIGHT_##n, MASK_W = MASK_WIDTH_##n;                     \
    static constexpr int POOL_H = POOL_HEIGHT_##n, POOL_W = POOL_WIDTH_##n;                     \
    static constexpr int SLABS = (MASK_H + 2) / 2, RING = SLABS + SUMS_##n - 1;                 \
    static constexpr int MAP_GROUPS = (MAPS + 3) / 4, SUMS = SUMS_##n;                          \
    static constexpr int DOWN = POOL_H / 2, RIGHT = POOL_W / 2, HALF = (ROWS + 1) / 2;          \
    static constexpr int WINDOWS = COLUMNS * RIGHT, STRIPS = (WINDOWS + 7) / 8;                 \
    static constexpr int SEGMENTS = SEGMENTS_##n, STEPS = HALF * DOWN / SEGMENTS;               \
    static constexpr int ALL = CHANNELS * SLABS, BYTES = 512 * MAP_GROUPS * ALL;

extern "C++" {

// Warps on their own: each has one group of maps, whose weights it holds in registers.
struct first {
    SIZES(1)
    static constexpr int GROUPS = 1, TASKS = STRIPS * SEGMENTS;
    // Of a warpgroup's four warps so many share out the groups of maps, and the others tasks.
    static constexpr int SPREAD = MAP_GROUPS < 3 ? MAP_GROUPS : 4;
    typedef float sums[GROUPS][2][4];
    struct weights { pair at[ALL][2][2]; };

    static __device__ __forceinline__ int tap(int map, int c, int p, int q)
    {
        int slab = map / 4 * ALL + c * SLABS + p / 2;
        return ((slab * 4 + p % 2) * 32 + map % 4 * 8 + q / 2) * 2 + q % 2;
    }

    static __device__ __forceinline__ void begin(const pair a[CHANNELS][RING][4], int step,
                                                 const weights& b, sums& sum)
    {
        UNROLL for (int e = 0; e < 8; e++) sum[0][e / 4][e % 4] = 0.0f;
        UNROLL for (int e = 0; e < ALL; e++)
            UNROLL for (int t = 0; t < 2; t++)
                multiply_add(sum[0][t], a[e / SLABS][(step + e % SLABS) % RING], b.at[e][t]);
    }

    template <int LATER> static __device__ __forceinline__ void complete(sums&) {}
};

// Four warps together: all maps, whose weights lie in shared memory.
struct second {
    SIZES(2)
    static constexpr int GROUPS = MAP_GROUPS, TASKS = (STRIPS * SEGMENTS + 3) / 4 * 4;
    typedef float sums[GROUPS][2][4];
    typedef word weights;

    static __device__ __forceinline__ int tap(int map, int c, int p, int q)
    {
        int half = (c * SLABS + p / 2) * 2 + p % 2;
        return (half * MAP_GROUPS + map / 4) * 128 + map % 4 * 16 + q;
    }

    // Begun, it still runs; what it reads must stay until it is complete.
    static __device__ __forceinline__ void begin(const pair a[CHANNELS][RING][4], int step,
                                                 weights b, sums& sum)
    {
        begin_products();
        START(sum, a[0][step % RING], b);
        UNROLL for (int e = 1; e < ALL; e++)
            ADD(sum, a[e / SLABS][(step + e % SLABS) % RING], b + e * (512 * MAP_GROUPS >> 4));
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

// A result from its definition: where a zero of the folded mask met an infinity or NaN.
template <class B>
__device__ __noinline__ float directly(const narrow* tile, const narrow* weights, float shift,
                                       int map, int row, int column)
{
    float pooled = -INFINITY;
    ROLLED for (int e = 0; e < B::POOL_H * B::POOL_W; e++) {
        const narrow* window = tile + (row * B::POOL_H + e / B::POOL_W) * B::PITCH +
                                column * B::POOL_W + e % B::POOL_W;
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

// Whether a lane holds a result: literally true where sizes leave none over.
template <class B>
__device__ __forceinline__ bool held(int map, int window, int row)
{
    bool column = B::WINDOWS % 8 == 0 || window < B::WINDOWS, rows = B::ROWS % 2 == 0 || row < B::ROWS;
    return window % B::RIGHT == 0 && column && rows && (B::MAPS % 4 == 0 || map < B::MAPS);
}

// The rows of slabs that come in at a step, for a lane's windows: two patch rows a channel.
template <class B>
__device__ __forceinline__ void load(const narrow* patch, int step,
                                     pair a[B::CHANNELS][B::RING][4])
{
    UNROLL for (int c = 0; c < B::CHANNELS; c++) {
        const narrow* row = patch + c * B::PLANE + 2 * step * B::PITCH;
        const narrow* below = row + 2 * B::HALF * B::DOWN * B::PITCH;
        pair* slab = a[c][step % B::RING];
        slab[0] = *(const pair*)row, slab[1] = *(const pair*)below;
        slab[2] = *(const pair*)(row + B::PITCH), slab[3] = *(const pair*)(below + B::PITCH);
    }
}

// A warp's task: rows of windows downwards, the patches' slabs passing through registers.
// `to` is its image of results, rows `pitch` and maps `plane` apart.
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
    typename B::sums sum[B::SUMS];
    float most[B::GROUPS][2];
    bool doubtful = false;
    UNROLL for (int s = 0; s < B::SLABS; s++) load<B>(patch, s, a);
    B::begin(a, 0, b, sum[0]);
    UNROLL for (int step = 0; step < B::STEPS; step++) {
        const bool next = step + 1 < B::STEPS;
        if (B::SUMS == 2 && next) {
            load<B>(patch, step + B::SLABS, a);
            B::begin(a, step + 1, b, sum[(step + 1) % B::SUMS]);
            B::template complete<1>(sum[step % B::SUMS]);
        } else {
            B::template complete<0>(sum[step % B::SUMS]);
            if (next) load<B>(patch, step + B::SLABS, a);
        }
        UNROLL for (int e = 0; e < 2 * B::GROUPS; e++) {
            const int h = e % 2, m = e / 2, row = h * B::HALF + step / B::DOWN;
            const float(*four)[4] = sum[step % B::SUMS][m];
            float y = maximum(maximum(four[0][2 * h], four[0][2 * h + 1]),
                              maximum(four[1][2 * h], four[1][2 * h + 1]));
            most[m][h] = step % B::DOWN ? maximum(most[m][h], y) : y;
            if ((step + 1) % B::DOWN) continue;
            y = most[m][h];
            UNROLL for (int lanes = 1; lanes < B::RIGHT; lanes *= 2)
                y = maximum(y, __shfl_xor_sync(~0u, y, 4 * lanes));
            y = activate(y + shift[m]);
            doubtful |= y != y;
            if (held<B>(map + 4 * m, window, top + row)) put(place + 4 * m * plane + row * pitch, y);
        }
        if (B::SUMS == 1 && next) B::begin(a, step + 1, b, sum[0]);
    }
    // A zero of the folded mask makes NaN of an infinity that no mask should have met.
    if (__any_sync(~0u, doubtful))
        ROLLED for (int e = 0; e < 2 * B::GROUPS * (B::STEPS / B::DOWN); e++) {
            int m = e / 2 % B::GROUPS, row = e % 2 * B::HALF + e / 2 / B::GROUPS;
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

// Image `turn` of a block, through a ring: whose place it is, and how often the ring went round.
#define AT(turn, count) ((turn) % (count))
#define ROUND(turn, count) ((turn) / (count) & 1)
#define IMAGES(turn, first, step)                                                              \
    (int turn = (first); blockIdx.x + turn * gridDim.x < images; turn += (step))

// The loading role: an image ahead in registers.
__device__ __forceinline__ void fetch(const float4* image, float4 held[PIECES])
{
    UNROLL for (int e = 0; e < PIECES; e++)
        if (128 * e + 128 <= IMAGE_1 / 4 || threadIdx.x + 128 * e < IMAGE_1 / 4)
            held[e] = __ldcs(image + threadIdx.x + 128 * e);
}

__device__ __forceinline__ void load_images(const float* x, struct places in, int images)
{
    float4 held[PIECES];
    fetch((const float4*)(x + (size_t)blockIdx.x * IMAGE_1), held);
    for IMAGES(turn, 0, 1) {
        const int at = AT(turn, TILES);
        wait(EMPTY(in.tile_barriers, at, TILES), ROUND(turn, TILES) ^ 1);
        uint2* tile = (uint2*)(in.tiles + at * TILE_1) + threadIdx.x;
        UNROLL for (int e = 0; e < PIECES; e++)
            if (128 * e + 128 <= IMAGE_1 / 4 || threadIdx.x + 128 * e < IMAGE_1 / 4)
                tile[128 * e] =
                    make_uint2(pack(held[e].x, held[e].y), pack(held[e].z, held[e].w));
        arrive(FULL(in.tile_barriers, at));
        size_t next = blockIdx.x + (size_t)(turn + 1) * gridDim.x;
        if (next < images) fetch((const float4*)(x + next * IMAGE_1), held);
    }
}

__device__ __forceinline__ void first_role(const float* bias, struct places in, int group,
                                           int images)
{
    const int warp = threadIdx.x / 32 % 4, maps = warp % first::SPREAD;
    float shift[first::GROUPS];
    biases<first>(bias, maps, shift);
    first::weights b;
    if (maps < first::MAP_GROUPS)
        UNROLL for (int e = 0; e < 4 * first::ALL; e++)
            b.at[e / 4][e / 2 % 2][e % 2] =
                ((const pair*)in.weights_1)[(maps * 4 * first::ALL + e) * 32 + threadIdx.x % 32];
    for IMAGES(turn, group, GROUPS_1) {
        const int at = AT(turn, TILES), to = AT(turn, BETWEEN);
        wait(FULL(in.tile_barriers, at), ROUND(turn, TILES));
        wait(EMPTY(in.between_barriers, to, BETWEEN), ROUND(turn, BETWEEN) ^ 1);
        const int tasks = maps < first::MAP_GROUPS ? first::TASKS : 0;
        ROLLED for (int e = warp / first::SPREAD; e < tasks; e += 4 / first::SPREAD)
            task<first>(in.tiles + at * TILE_1, in.weights_1, b, bias, shift, maps, e,
                        in.between + to * TILE_2, second::PITCH, second::PLANE);
        arrive(EMPTY(in.tile_barriers, at, TILES));
        arrive(FULL(in.between_barriers, to));
    }
}

__device__ __forceinline__ void second_role(const float* bias, result* out,
                                            struct places in, int group, int images)
{
    const int size = ROWS_2 * COLUMNS_2;
    float shift[second::GROUPS];
    biases<second>(bias, 0, shift);
    word b = PIECES_AT((unsigned)__cvta_generic_to_shared(in.weights_2), 256 * second::MAP_GROUPS);
    for IMAGES(turn, group, GROUPS_2) {
        const int at = AT(turn, BETWEEN);
        wait(FULL(in.between_barriers, at), ROUND(turn, BETWEEN));
        result* to = out + (blockIdx.x + (size_t)turn * gridDim.x) * (MAPS_2 * size);
        ROLLED for (int e = threadIdx.x / 32 % 4; e < second::TASKS; e += 4)
            task<second>(in.between + at * TILE_2, in.weights_2, b, bias, shift, 0, e, to,
                         COLUMNS_2, size);
        arrive(EMPTY(in.between_barriers, at, BETWEEN));
    }
}

__global__ __launch_bounds__(THREADS, 1) void front(
    const float* __restrict__ x, const narrow* __restrict__ weights_1,
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
    int group = threadIdx.x / 128;
    if (group == 0) {
        REGISTERS_0;
        load_images(x, in, images);
    } else if (group <= GROUPS_1) {
        REGISTERS_1;
        first_role(bias_1, in, group - 1, images);
    } else {
        REGISTERS_2;
        second_role(bias_2, out, in, group - 1 - GROUPS_1, images);
    }
}
