// front: two convolution blocks without leaving the
// multiprocessor.
//
// Both blocks fold their pool into the columns of a matrix product (pool_folded of conv2d,
// pool_folded).  A persistent block of threads sends images through a pipeline of roles: one
// warpgroup fetches the next image into registers and puts it, in the cores' type, into a ring
// of tiles; warps of the first block make of it, in another ring, the image that warpgroups of
// the second block read. So one image is loaded while the next roles multiply others, and the data
// between the blocks never exist in device memory. Within a role the product of the next row of
// windows runs while the present one is pooled. The first block's few columns would
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

#define FAMILY front
#include "network/gpu/front/blocks.h"

#define IMAGE_1 (CHANNELS_1 * HEIGHT_1 * WIDTH_1)
#define PIECES ((IMAGE_1 / 4 + 127) / 128)

// Offsets in shared memory.
struct places {
    const narrow *weights_1, *weights_2;
    narrow *tiles, *between;
    unsigned tile_barriers, between_barriers;
};

// The numbers of a block's images that a role takes.
#define IMAGES(n, first, step)                                                                 \
    (int n = (first); blockIdx.x + n * gridDim.x < images; n += (step))

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
    for IMAGES(n, 0, 1) {
        struct pipeline_state pipe = state_after(n, TILES);
        producer_acquire(in.tile_barriers, pipe, TILES);
        uint2* tile = (uint2*)(in.tiles + pipe.stage * TILE_1) + threadIdx.x;
        UNROLL for (int e = 0; e < PIECES; e++)
            if (128 * e + 128 <= IMAGE_1 / 4 || threadIdx.x + 128 * e < IMAGE_1 / 4)
                tile[128 * e] = NARROW_PIECE(held[e]);
        barrier_arrive(FULL_BARRIER(in.tile_barriers, pipe.stage));
        size_t next = blockIdx.x + (size_t)(n + 1) * gridDim.x;
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
    for IMAGES(n, warpgroup, GROUPS_1) {
        struct pipeline_state from = state_after(n, TILES), to = state_after(n, BETWEEN);
        consumer_wait(in.tile_barriers, from);
        producer_acquire(in.between_barriers, to, BETWEEN);
        const int tasks = maps < first::MAP_GROUPS ? first::TASKS : 0;
        ROLLED for (int k = warp / first::SPREAD; k < tasks; k += 4 / first::SPREAD)
            task<first>(in.tiles + from.stage * TILE_1, in.weights_1, b, bias, shift, maps, k,
                        in.between + to.stage * TILE_2, second::PITCH, second::PLANE);
        barrier_arrive(EMPTY_BARRIER(in.tile_barriers, from.stage, TILES));
        barrier_arrive(FULL_BARRIER(in.between_barriers, to.stage));
    }
}

__device__ __forceinline__ void second_role(const float* bias, result* out,
                                            struct places in, int warpgroup, int images)
{
    const int size = ROWS_2 * COLUMNS_2;
    float shift[second::GROUPS];
    biases<second>(bias, 0, shift);
    word b = PLAIN_DESCRIPTOR((unsigned)__cvta_generic_to_shared(in.weights_2), 256 * second::MAP_GROUPS);
    for IMAGES(n, warpgroup, GROUPS_2) {
        struct pipeline_state pipe = state_after(n, BETWEEN);
        consumer_wait(in.between_barriers, pipe);
        result* to = out + (blockIdx.x + (size_t)n * gridDim.x) * (MAPS_2 * size);
        ROLLED for (int k = threadIdx.x / 32 % 4; k < second::TASKS; k += 4)
            task<second>(in.between + pipe.stage * TILE_2, in.weights_2, b, bias, shift, 0, k, to,
                         COLUMNS_2, size);
        barrier_arrive(EMPTY_BARRIER(in.between_barriers, pipe.stage, BETWEEN));
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
    // Memory that no image fills meets zeros of the masks, and must be finite.
    const int zeros = (TILES * TILE_1 + BETWEEN * TILE_2) / 8;
    ROLLED for (int e = threadIdx.x; e < zeros; e += THREADS)
        ((uint4*)in.tiles)[e] = make_uint4(0, 0, 0, 0);
    // A buffer is handed over by every thread of the warpgroup that has read or written it.
    if (threadIdx.x == 0) {
        init_stages(in.tile_barriers, TILES, 128, 128);
        init_stages(in.between_barriers, BETWEEN, 128, 128);
    }
    fence_barrier_init();
    fence_proxy_async();
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
