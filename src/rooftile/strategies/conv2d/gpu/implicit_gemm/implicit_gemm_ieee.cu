// implicit_gemm_ieee: the matrix product of float32 as two numbers of float16.
//
// As implicit_gemm_fp16, but each value is split in two numbers, x = high + low, scaled as
// `common/scaled.h` says, and three products stand for one.  An image is scaled by its own largest
// number, which a kernel before finds, and each map's weights by theirs.  Products of high numbers
// are summed apart for a row of taps at a time: cores truncate sums, and short sums keep that below
// float32's error.  Products with low numbers are too small for it to matter.  Results that are in
// doubt become NaN; `repair` computes NaNs from their definition.
// What it removes: float32's arithmetic on the cores that every program shares.
//
// x[images][CHANNELS][HEIGHT][WIDTH]; behind the packed weights those in the order given;
// weight_ranges[MAPS], one for each map's weights; partials[images][SHARES] and ranges[images], of an
// image's values; bias[MAPS]; out[images][MAPS][ROWS][COLUMNS].

#include "common/scaled.h"
#include "common/warp_range.h"
#include "conv2d/gpu/implicit_gemm/product.h"
#include "conv2d/gpu/implicit_gemm/parts.h"
#include "conv2d/gpu/implicit_gemm/results.h"

// A thread's share of `count` numbers. A literal: with a loop's end that only the thread knows,
// compilers unroll it twice.
#define ROUNDS(count, threads) (((count) + (threads) - 1) / (threads))
#define GIVEN(weights, map) ((weights) + WEIGHTS + (map) * FILTER_SIZE)

__device__ __forceinline__ element converted(float value, int number)
{
    element high = NARROW(value);
    return number ? NARROW(low(value, widened(high))) : high;
}

// Joins the ranges of all threads of a block.
__device__ __forceinline__ struct range of_block(struct range range)
{
    __shared__ struct range ranges[32];
    range = of_warp(range);
    // A round before may still be read.
    __syncthreads();
    if (threadIdx.x % 32 == 0) ranges[threadIdx.x / 32] = range;
    __syncthreads();
    return of_warp(ranges[threadIdx.x % (blockDim.x / 32)]);
}

// Finds the range of each map's weights.  Grid: a block a map.
__global__ __launch_bounds__(PACK_THREADS) void implicit_gemm_ieee_measure_weights(
    const float* __restrict__ weights, struct range* __restrict__ weight_ranges)
{
    struct range range = {0, ~0u};
    UNROLL_BY(8) for (int k = 0; k < ROUNDS(FILTER_SIZE, PACK_THREADS); k++) {
        int e = k * PACK_THREADS + threadIdx.x;
        if (e < FILTER_SIZE) widen(&range, __float_as_uint(GIVEN(weights, blockIdx.x)[e]));
    }
    range = of_block(range);
    if (threadIdx.x == 0) weight_ranges[blockIdx.x] = range;
}

// Scales and splits the weights.  Grid: a thread a weight.
__global__ __launch_bounds__(PACK_THREADS) void implicit_gemm_ieee_pack_weights(
    const float* __restrict__ weights, const struct range* __restrict__ weight_ranges,
    element* __restrict__ stages, int count)
{
    int i = blockIdx.x * PACK_THREADS + threadIdx.x;
    if (i >= count) return;
    int map = i / (STEPS * TILE_MAPS * CHUNK) * TILE_MAPS + i / CHUNK % TILE_MAPS;
    float scale = map < MAPS ? power(scale_of(weight_ranges[map])) : 1.0f;
    pack_weight(scale * weights[i], stages, i);
}

// Finds the range of each share of an image; nothing is in doubt yet.  Grid: x SHARES, y images.
__global__ __launch_bounds__(MEASURE_THREADS) void implicit_gemm_ieee_measure(
    const float* __restrict__ x, struct range* __restrict__ partials, int* __restrict__ doubts,
    int images)
{
    if (blockIdx.x + blockIdx.y + threadIdx.x == 0) *doubts = 0;
    for (int n = blockIdx.y; n < images; n += gridDim.y) {
        const float* image = x + (size_t)n * IMAGE_SIZE;
        struct range range = {0, ~0u};
        unsigned first = blockIdx.x * MEASURE_THREADS + threadIdx.x;
        UNROLL_BY(8) for (unsigned k = 0; k < ROUNDS(IMAGE_SIZE, SHARES * MEASURE_THREADS); k++) {
            unsigned e = first + k * (SHARES * MEASURE_THREADS);
            if (e < IMAGE_SIZE) widen(&range, __float_as_uint(image[e]));
        }
        range = of_block(range);
        if (threadIdx.x == 0) partials[n * SHARES + blockIdx.x] = range;
    }
}

// Scales, splits and packs the image.  Grid: x runs of PACK_PIXELS pixels, y chunks, z images.
__global__ __launch_bounds__(PACK_THREADS) void implicit_gemm_ieee_pack_image(
    const float* __restrict__ x, const struct range* __restrict__ partials,
    struct range* __restrict__ ranges, element* __restrict__ packed, int images)
{
    for (int n = blockIdx.z; n < images; n += gridDim.z) {
        struct range range = {0, ~0u};
        if (threadIdx.x < SHARES) range = partials[n * SHARES + threadIdx.x];
        range = of_block(range);
        if (blockIdx.x + blockIdx.y + threadIdx.x == 0) ranges[n] = range;
        pack_run(x + (size_t)n * IMAGE_SIZE, packed, power(scale_of(range)), n, images);
    }
}

// Adds one step's products: of high numbers to `big`, of high with low ones to `small`.
__device__ __forceinline__ void multiply(float big[SUMS], float small[SUMS], unsigned maps,
                                         unsigned pixels, int more, int more_small)
{
    word a = swizzled_descriptor(maps, 1024), b = swizzled_descriptor(pixels, PIXEL_PITCH);
    const int low_maps = TILE_MAPS * 128 >> 4, low_pixels = PATCH_BYTES >> 4;
    UNROLL for (int k = 0; k < 2 * DEPTHS; k += 2) {
        WGMMA(big, a + k, b + k, more || k > 0);
        WGMMA(small, a + k, b + low_pixels + k, more_small || k > 0);
        WGMMA(small, a + low_maps + k, b + k, 1);
    }
}

// A warpgroup sums up its share of a tile; sums are still scaled.
__device__ __forceinline__ void accumulate(float total[SUMS], struct places in,
                                           struct reader* reader, struct tile tile)
{
    struct share share = share_of_block();
    unsigned pixels = 0;
    float small[SUMS];
    UNROLL for (int e = 0; e < SUMS; e++) total[e] = 0.0f;
    ROLLED for (int row = share.first; row < share.last; row++) {
        int p = row % MASK_HEIGHT;
        if (p == 0 || row == share.first) pixels = next_patch(in, reader, tile);
        float big[SUMS];
        ROLLED for (int q = 0; q < MASK_WIDTH; q++) {
            unsigned maps = next_stage(in, reader);
            wgmma_fence();
            multiply(big, small, maps, pixels + (p * LINE + q) * 128, q > 0,
                     row > share.first || q > 0);
            wgmma_commit();
            leave_step(in, reader);
        }
        WGMMA_WAIT(0);
        consumer_release(&reader->weights);
        UNROLL for (int e = 0; e < SUMS; e++) total[e] += big[e];
        if (p + 1 == MASK_HEIGHT || row + 1 == share.last) leave_patch(in, reader, true);
    }
    UNROLL for (int e = 0; e < SUMS; e++) total[e] = fmaf(small[e], 1.0f / LOW_SCALE, total[e]);
}

// Scales a thread's sums back, which are of two maps.  Returns whether one is in doubt.
__device__ __forceinline__ bool scale_back(float sum[SUMS], int first_map,
                                           const struct range* weight_ranges, struct range image)
{
    struct floors least[2];
    int exponent[2];
    bool doubtful = false;
    UNROLL for (int m = 0; m < 2; m++) {
        int map = first_map + threadIdx.x % 32 / 4 + 8 * m;
        // Maps beyond the last have no range of their own; they are not stored.
        struct range weights = weight_ranges[MAPS % TILE_MAPS == 0 || map < MAPS ? map : 0];
        least[m] = floors_of(image, floors_of(weights, 0.0f).other);
        exponent[m] = -scale_of(weights) - scale_of(image);
    }
    UNROLL for (int e = 0; e < SUMS; e++) {
        if (!OWN_SLICE(e / SLICE_SUMS * SLICE)) continue;
        sum[e] = scaled_back(sum[e], exponent[e / 2 % 2], least[e / 2 % 2]);
        doubtful |= sum[e] != sum[e];
    }
    return doubtful;
}

IN_CLUSTERS __global__ __launch_bounds__(384, 1) void implicit_gemm_ieee(
    const __grid_constant__ tensor_map image, const __grid_constant__ tensor_map stages,
    const struct range* __restrict__ weight_ranges, const struct range* __restrict__ ranges,
    const float* __restrict__ bias, float* __restrict__ out, int* __restrict__ doubts, int images)
{
    extern __shared__ __align__(1024) char shared[];
    struct places in = init_pipeline(shared);
    if (fetches(&image, &stages, in, images)) return;
    struct reader reader = {{0, 0}, {0, 0}, 0, 0};
    int warp = threadIdx.x / 32 - 4;
    for (int index = blockIdx.x / PARTS; index < images * TILES; index += gridDim.x / PARTS) {
        struct tile tile = tile_of(index);
        float sum[SUMS];
        accumulate(sum, in, &reader, tile);
        add_parts(sum, in);
        int map = tile.map + (GROUPS == 1 ? warp / 4 * 64 : 0) + warp % 4 * 16;
        if (scale_back(sum, map, weight_ranges, ranges[tile.image])) *doubts = 1;
        finish(sum, in, tile, bias, out);
    }
}

// A warp computes a result from its definition: its lanes share out the taps.
__device__ __noinline__ float directly(const float* image, const float* filter, float shift,
                                       int row, int column)
{
    float pooled = POOL_START;
    for (int position = 0; position < POOL_HEIGHT * POOL_WIDTH; position++) {
        int top = row * POOL_HEIGHT + position / POOL_WIDTH - PAD_Y;
        int left = column * POOL_WIDTH + position % POOL_WIDTH - PAD_X;
        float sum = 0.0f;
        UNROLL_BY(4) for (int k = threadIdx.x % 32; k < FILTER_SIZE; k += 32) {
            int i = top + k / MASK_WIDTH % MASK_HEIGHT, j = left + k % MASK_WIDTH;
            bool inside = i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH;
            sum += filter[k] * (inside ? image[INPUT_AT(k / MASK_SIZE, i * WIDTH + j)] : 0.0f);
        }
        UNROLL for (int apart = 1; apart < 32; apart *= 2) sum += __shfl_xor_sync(~0u, sum, apart);
        pooled = POOL_WITH(pooled, activate(sum + shift));
    }
    return POOL_END(pooled);
}

// Computes NaNs from their definition, where `conv2d` has seen one.  A warp goes through those that
// its lanes find, one by one.
__global__ __launch_bounds__(256) void implicit_gemm_ieee_repair(
    const float* __restrict__ x, const float* __restrict__ weights, const float* __restrict__ bias,
    const int* __restrict__ doubts, float* __restrict__ out, int images)
{
    if (!*doubts) return;
    size_t count = (size_t)images * RESULT_SIZE;
    for (size_t first = blockIdx.x * 256 + threadIdx.x / 32 * 32; first < count;
         first += gridDim.x * 256) {
        size_t own = first + threadIdx.x % 32;
        unsigned left = __ballot_sync(~0u, own < count && out[own] != out[own]);
        for (; left; left &= left - 1) {
            size_t e = first + __ffs(left) - 1;
            int at = e % RESULT_SIZE, map = OUT_LAST ? at % MAPS : at / (ROWS * COLUMNS);
            int place = OUT_LAST ? at / MAPS : at % (ROWS * COLUMNS);
            float y = directly(x + e / RESULT_SIZE * IMAGE_SIZE, GIVEN(weights, map), bias[map],
                               place / COLUMNS, place % COLUMNS);
            if (e == own) out[e] = y;
        }
    }
}
