// Rung 33, implicit_gemm_ieee: the matrix product of float32 as two numbers of float16.
//
// As rung 30, implicit_gemm_fp16, but each value is split in two numbers, x = high + low, scaled as
// `common/scaled.h` says, and three products stand for one.  An image is scaled by its own largest
// number, which a kernel before finds, and each map's weights by theirs.  Products of high numbers
// are summed apart for a row of taps at a time: cores truncate sums, and short sums keep that below
// float32's error.  Products with low numbers are too small for it to matter.  Results that are in
// doubt become NaN; `repair` computes NaNs from their definition.
// What it removes: float32's arithmetic on the cores that every program shares.
//
// x[images][CHANNELS][HEIGHT][WIDTH]; behind the packed weights those in the order given;
// spans[MAPS], one for each map's weights; partials[images][SHARES] and ranges[images], of an
// image's values; bias[MAPS]; out[images][MAPS][ROWS][COLUMNS].

#include "common/scaled.h"
#include "common/warp_range.h"
#include "conv2d/gpu/implicit_gemm/product.h"

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

// Finds the span of each map's weights.  Grid: a block a map.
__global__ __launch_bounds__(PACK_THREADS) void measure_weights(const float* __restrict__ weights,
                                                                struct range* __restrict__ spans)
{
    struct range range = {0, ~0u};
    for (int e = threadIdx.x; e < FILTER_SIZE; e += PACK_THREADS)
        widen(&range, __float_as_uint(GIVEN(weights, blockIdx.x)[e]));
    range = of_block(range);
    if (threadIdx.x == 0) spans[blockIdx.x] = range;
}

// Scales and splits the weights.  Grid: a thread a weight.
__global__ __launch_bounds__(PACK_THREADS) void pack_weights(
    const float* __restrict__ weights, const struct range* __restrict__ spans,
    element* __restrict__ stages, int count)
{
    int i = blockIdx.x * PACK_THREADS + threadIdx.x;
    if (i >= count) return;
    int map = i / (STEPS * TILE_MAPS * CHUNK) * TILE_MAPS + i / CHUNK % TILE_MAPS;
    float scale = map < MAPS ? power(scale_of(spans[map])) : 1.0f;
    pack_weight(scale * weights[i], stages, i);
}

// Finds the range of each share of an image.  Grid: x SHARES, y images.
__global__ __launch_bounds__(MEASURE_THREADS) void measure(const float* __restrict__ x,
                                                           struct range* __restrict__ partials,
                                                           int images)
{
    for (int n = blockIdx.y; n < images; n += gridDim.y) {
        const float* image = x + (size_t)n * IMAGE_SIZE;
        struct range range = {0, ~0u};
        unsigned first = blockIdx.x * MEASURE_THREADS + threadIdx.x;
        UNROLL_BY(8) for (unsigned e = first; e < IMAGE_SIZE; e += SHARES * MEASURE_THREADS)
            widen(&range, __float_as_uint(image[e]));
        range = of_block(range);
        if (threadIdx.x == 0) partials[n * SHARES + blockIdx.x] = range;
    }
}

// Scales, splits and packs the image.  Grid: x runs of PACK_PIXELS pixels, y chunks, z images.
__global__ __launch_bounds__(PACK_THREADS) void pack_image(
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
__device__ __forceinline__ void multiply(float big[TILE_MAPS / 2], float small[TILE_MAPS / 2],
                                         unsigned pixels, unsigned maps, int more, int more_small)
{
    word a = matrix(pixels, PATCH_COLUMNS * 128), b = matrix(maps, 1024);
    const int low_pixels = PATCH_BYTES >> 4, low_maps = TILE_MAPS * 128 >> 4;
    UNROLL for (int k = 0; k < 8; k += 2) {
        WGMMA(big, a + k, b + k, more || k > 0);
        WGMMA(small, a + k, b + low_maps + k, more_small || k > 0);
        WGMMA(small, a + low_pixels + k, b + k, 1);
    }
}

// A warpgroup sums up its tile over all chunks and taps; sums are still scaled.
__device__ __forceinline__ void accumulate(float total[TILE_MAPS / 2], struct places in,
                                           struct turn* patch, struct turn* stage)
{
    unsigned first_row = 8 * (threadIdx.x / 128 - 1), weights = 0;
    float small[TILE_MAPS / 2];
    UNROLL for (int e = 0; e < TILE_MAPS / 2; e++) total[e] = 0.0f;
    ROLLED for (int chunk = 0; chunk < CHUNKS; chunk++, advance(patch, PATCHES)) {
        wait(FULL(in.patch_barriers, patch->at), patch->round);
        unsigned pixels =
            in.patches + patch->at * NUMBERS * PATCH_BYTES + first_row * PATCH_COLUMNS * 128;
        ROLLED for (int p = 0; p < MASK_HEIGHT; p++) {
            float big[TILE_MAPS / 2];
            ROLLED for (int q = 0; q < MASK_WIDTH; q++, advance(stage, STAGES)) {
                wait(FULL(in.stage_barriers, stage->at), stage->round);
                begin_products();
                multiply(big, small, pixels + (p * PATCH_COLUMNS + q) * 128,
                         in.stages + stage->at * STAGE_BYTES, q > 0, chunk + p + q > 0);
                end_products();
                // The products before these are done with their weights.
                IN_FLIGHT(1);
                release(&weights);
                weights = EMPTY(in.stage_barriers, stage->at, STAGES);
            }
            IN_FLIGHT(0);
            release(&weights);
            UNROLL for (int e = 0; e < TILE_MAPS / 2; e++) total[e] += big[e];
        }
        unsigned inputs = EMPTY(in.patch_barriers, patch->at, PATCHES);
        release(&inputs);
    }
    UNROLL for (int e = 0; e < TILE_MAPS / 2; e++)
        total[e] = fmaf(small[e], 1.0f / LOW_SCALE, total[e]);
}

// Scales a thread's sums back.
__device__ __forceinline__ void scale_back(float sum[TILE_MAPS / 2], int first_map,
                                           const struct range* spans, struct range image)
{
    UNROLL for (int e = 0; e < TILE_MAPS / 2; e++) {
        int map = first_map + threadIdx.x % 4 * 2 + COLUMN_OF(e);
        // Maps beyond the last have no span of their own; they are not stored.
        struct range weights = spans[MAPS % TILE_MAPS == 0 || map < MAPS ? map : 0];
        struct floors least = floors_of(image, floors_of(weights, 0.0f).other);
        sum[e] = scaled_back(sum[e], -scale_of(weights) - scale_of(image), least);
    }
}

__global__ __launch_bounds__(384, 1) void conv2d(
    const __grid_constant__ tensor_map image, const __grid_constant__ tensor_map stages,
    const struct range* __restrict__ spans, const struct range* __restrict__ ranges,
    const float* __restrict__ bias, float* __restrict__ out, int images)
{
    extern __shared__ __align__(1024) char shared[];
    struct places in = set_up(shared);
    if (fetches(&image, &stages, in, images)) return;
    struct turn patch = {0, 0}, stage = {0, 0};
    for (int index = blockIdx.x; index < images * TILES; index += gridDim.x) {
        struct tile tile = tile_of(index);
        float sum[1][TILE_MAPS / 2];
        accumulate(sum[0], in, &patch, &stage);
        scale_back(sum[0], tile.map, spans, ranges[tile.image]);
        finish(sum, tile, bias, out);
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
        UNROLL_BY(4) for (int k = threadIdx.x % 32; k < FILTER_SIZE; k += 32)
            sum += filter[k] * pixel(image + k / MASK_SIZE * (HEIGHT * WIDTH),
                                     top + k / MASK_WIDTH % MASK_HEIGHT, left + k % MASK_WIDTH);
        UNROLL for (int apart = 1; apart < 32; apart *= 2) sum += __shfl_xor_sync(~0u, sum, apart);
        pooled = POOL_WITH(pooled, activate(sum + shift));
    }
    return POOL_END(pooled);
}

// Computes NaNs from their definition.  A warp goes through those that its lanes find, one by one.
__global__ __launch_bounds__(256) void repair(const float* __restrict__ x,
                                              const float* __restrict__ weights,
                                              const float* __restrict__ bias,
                                              float* __restrict__ out, int images)
{
    size_t count = (size_t)images * RESULT_SIZE;
    for (size_t first = blockIdx.x * 256 + threadIdx.x / 32 * 32; first < count;
         first += gridDim.x * 256) {
        size_t own = first + threadIdx.x % 32;
        unsigned left = __ballot_sync(~0u, own < count && out[own] != out[own]);
        for (; left; left &= left - 1) {
            size_t e = first + __ffs(left) - 1;
            int map = e / (ROWS * COLUMNS) % MAPS;
            float y = directly(x + e / RESULT_SIZE * IMAGE_SIZE, GIVEN(weights, map), bias[map],
                               e / COLUMNS % ROWS, e % COLUMNS);
            if (e == own) out[e] = y;
        }
    }
}
