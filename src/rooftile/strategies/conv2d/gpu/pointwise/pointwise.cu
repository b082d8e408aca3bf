// pointwise: a mask of one tap is a matrix product, of the unpacked images.
//
// The sum of a result runs over a pixel's channels alone: weights times an image, which is a matrix
// [CHANNELS][PIXELS], or with X_LAST all images are one [pixels][CHANNELS]. Each is loaded to
// shared memory once for a tile of maps, by asynchronous copies, and is rounded or split on its way
// to the cores (`matmul/gpu/mma/mma.cu` says how); an instruction loads 16-bit operands. So nothing
// is packed, which would take longer than the product. Results wait in shared memory, and leave it
// in whole lines.
// What it removes: the pass that packs channels.
//
// x: see above, in float or, with X_NARROW, in the cores' own type; weights[MAPS][CHANNELS] likewise;
// bias[MAPS]; out[images][MAPS][PIXELS], or with OUT_LAST [images][PIXELS][MAPS].
// Grid: x over tiles of maps, then of pixels; y over images, unless x has them as one matrix.
// Block: WARPS_R x WARPS_C warps.

#define FAMILY pointwise
#include "common/fused.h"
#include "common/rounded.h"
#include "gemm/gpu/slices.h"

#define MAP_TILES ((MAPS + TILE_R - 1) / TILE_R)
#define SLICES ((CHANNELS + SLICE - 1) / SLICE)
#if OUT_LAST
#define KEPT_AT(map, pixel) ((pixel) * (TILE_R + 8) + (map))
#define STORED (MAPS % 4 == 0 ? 4 : 1)
#else
#define KEPT_AT(map, pixel) ((map) * (TILE_C + 4) + (pixel))
#define STORED (PIXELS % 4 == 0 ? 4 : 1)
#endif

__device__ __forceinline__ float operand(given x)
{
#if NUMBERS == 3
    return x;
#elif CORES == TF32
    return tf32(x);
#else
    return VALUE(x);
#endif
}

// A sum from its definition.
__device__ __noinline__ float direct_sum(const given* x, const given* weights, int map, int64 pixel)
{
    const given* first = x + (X_LAST ? pixel * CHANNELS : pixel);
    float sum = 0.0f;
    ROLLED for (int c = 0; c < CHANNELS; c++)
        sum += operand(weights[map * CHANNELS + c]) * operand(first[X_LAST ? c : c * PIXELS]);
    return sum;
}

// Sums up a block's tile: rows are maps, columns are pixels.  Returns whether a warp's sums are sure.
__device__ __forceinline__ bool multiply_tile(given* stages, const given* x, const given* weights,
                                              int map, int pixel, int pixels, struct sums* sums)
{
    int warp = threadIdx.x / 32, row = warp / WARPS_C * WARP_R, column = warp % WARPS_C * WARP_C;
    unsigned least = ~0u;
    UNROLL for (int e = 0; e < ROWS * COLUMNS * 4; e++)
        sums->of[e / (4 * COLUMNS)][e / 4 % COLUMNS][e % 4] = 0.0f;
    // The slice `s` is multiplied, and the one that comes STAGES - 1 later is started.
    ROLLED for (int s = 1 - STAGES; s < SLICES; s++) {
        if (s >= 0) await_stage();
        int later = s + STAGES - 1, start = later * SLICE;
        given* next = stages + later % STAGES * STAGE_SIZE;
        if (later < SLICES) {
            start_tile(next, weights, map, MAPS, start, CHANNELS, TILE_R, true, A_PIECE);
            start_tile(next + A_SIZE, x, pixel, pixels, start, CHANNELS, TILE_C, TRANSPOSE_B,
                       B_PIECE);
        }
        end_copies();
        const given* stage = stages + (s + STAGES) % STAGES * STAGE_SIZE;
        if (s >= 0) multiply_slice(stage, stage + A_SIZE, row, column, sums, &least);
    }
    COPIES_DONE();
    return NUMBERS == 1 || !__any_sync(~0u, least < SMALL);
}

// Keeps a warp's sums, and computes from their definition those that are not finite or not sure.
__device__ __forceinline__ void keep(float* kept, const struct sums* sums, bool sure, const given* x,
                                     const given* weights, int map, int pixel, int pixels)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int row = warp / WARPS_C * WARP_R + lane / 4, column = warp % WARPS_C * WARP_C + lane % 4 * 2;
    float probe = sure ? 0.0f : INFINITY;
    UNROLL for (int e = 0; e < ROWS * COLUMNS * 4; e++) {
        int r = e / (4 * COLUMNS), c = e / 4 % COLUMNS;
        float sum = sums->of[r][c][e % 4];
        probe += 0.0f * sum;
        kept[KEPT_AT(row + 16 * r + e % 4 / 2 * 8, column + 8 * c + e % 2)] = sum;
    }
    if (probe == 0.0f) return;
    ROLLED for (int e = 0; e < ROWS * COLUMNS * 4; e++) {
        int i = row + e / (4 * COLUMNS) * 16 + e % 4 / 2 * 8, j = column + e / 4 % COLUMNS * 8 + e % 2;
        float* sum = kept + KEPT_AT(i, j);
        if (map + i < MAPS && pixel + j < pixels && !(sure && fabsf(*sum) < INFINITY))
            *sum = direct_sum(x, weights, map + i, pixel + j);
    }
}

// Bias, activation, and stores in whole lines.  `out` is the image's, or the first one's.
__device__ __forceinline__ void store_tile(const float* kept, const float* bias, result* out, int map,
                                           int pixel, int pixels)
{
    const int lanes = (OUT_LAST ? TILE_R : TILE_C) / STORED;
    UNROLL_BY(4) for (int e = threadIdx.x; e < TILE_R * TILE_C / STORED; e += THREADS) {
        int i = OUT_LAST ? e % lanes * STORED : e / lanes;
        int j = OUT_LAST ? e / lanes : e % lanes * STORED;
        if (map + i >= MAPS || pixel + j >= pixels) continue;
        int64 n = X_LAST ? (pixel + j) / PIXELS : 0;
        int at = X_LAST ? (pixel + j) % PIXELS : pixel + j;
        result* to = out + n * (MAPS * PIXELS) +
                     (OUT_LAST ? (int64)at * MAPS + map + i : (int64)(map + i) * PIXELS + at);
        float y[STORED];
        UNROLL for (int k = 0; k < STORED; k++)
            y[k] = activate(kept[KEPT_AT(i, j) + k] + __ldg(bias + map + i + (OUT_LAST ? k : 0)));
#if OUT_LAST && MAPS % 4 == 0 || !OUT_LAST && PIXELS % 4 == 0
        *(result_4*)to = RESULT_4(y[0], y[1], y[2], y[3]);
#else
        *to = RESULT(y[0]);
#endif
    }
}

__global__ __launch_bounds__(THREADS, BLOCKS) void pointwise(const given* __restrict__ x,
                                                             const given* __restrict__ weights,
                                                             const float* __restrict__ bias,
                                                             result* __restrict__ out, int images)
{
    extern __shared__ __align__(128) char shared[];
    int map = blockIdx.x % MAP_TILES * TILE_R, pixel = blockIdx.x / MAP_TILES * TILE_C;
    int pixels = X_LAST ? images * PIXELS : PIXELS;
    for (int n = blockIdx.y; n < (X_LAST ? 1 : images); n += gridDim.y) {
        const given* image = x + (size_t)n * CHANNELS * PIXELS;
        struct sums sums;
        bool sure = multiply_tile((given*)shared, image, weights, map, pixel, pixels, &sums);
        __syncthreads();
        keep((float*)shared, &sums, sure, image, weights, map, pixel, pixels);
        __syncthreads();
        store_tile((const float*)shared, bias, out + (size_t)n * MAPS * PIXELS, map, pixel, pixels);
        __syncthreads();
    }
}
