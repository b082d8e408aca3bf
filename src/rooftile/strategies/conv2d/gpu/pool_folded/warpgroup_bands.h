// The bands of warpgroups: blocks stay for the whole batch, with the weights in shared memory, and
// each of their warpgroups, a team, has bands of its own.  While one of them stages a band, or pools,
// the others multiply.
//
// A band is copied to shared memory while the one before is multiplied.  With X_NARROW it is
// multiplied as it is; floats are rounded to what the cores multiply, into a tile of their own, or
// split, into two tiles.  With SCALED they are scaled before, by the band's largest number, and so
// are each map's weights, as `common/scaled.h` says.
//
// A text defines SLAB_BYTES, of the weights of one slab, and WEIGHT_BYTES, and says what becomes of a
// task.

#pragma once

#include "common/pipelines/pdl.h"
#include "common/pipelines/wgmma.h"
#if SCALED
#include "conv2d/gpu/pool_folded/scaled_band.h"
#include "conv2d/gpu/pool_folded/split.h"
#else
#include "conv2d/gpu/pool_folded/pooled.h"
#endif

// Of the copies, two buffers or one; and of what is made of them.
#define TEAM_BYTES ((X_NARROW ? 4 : 4 + 2 * NUMBERS) * BAND_SIZE)

// Factors that scale a band's sums back, of each of a lane's maps.
struct scales {
#if SCALED
    int exponents[GROUPS];
    struct floors least;
#endif
};

// A warp walks down a task's rows of windows.
__device__ __forceinline__ void do_task(const narrow* tile, word b, struct scales scales,
                                        const float shift[GROUPS], const given* image,
                                        const element* weights, result* results WHERE_ARGUMENT,
                                        int map, int window, int top, int start);

// Rounds a band to the cores' type, in the same order. Low numbers follow the high ones.
__device__ __forceinline__ void convert(const float* raw, narrow* tile, float scale)
{
    for (int e = MEMBER; e < BAND_SIZE / 4; e += TEAM) {
        float4 four = ((const float4*)raw)[e];
        float x = four.x * scale, y = four.y * scale, z = four.z * scale, w = four.w * scale;
        pair xy = pack(x, y), zw = pack(z, w);
        ((uint2*)tile)[e] = make_uint2(xy, zw);
#if NUMBERS == 2
        ((uint2*)(tile + BAND_SIZE))[e] = make_uint2(low_pair(x, y, xy), low_pair(z, w, zw));
#endif
    }
}

// Has a band as the cores multiply it; says what scales its sums back, of weights that `weights` say
// it of.
__device__ __forceinline__ struct scales round_band(const float* raw, narrow* tile,
                                                    struct scales weights)
{
    float scale = 1.0f;
#if SCALED
    struct range range = range_of(raw);
    int exponent = scale_of(range);
    scale = power(exponent);
    weights.least = floors_of(range, weights.least.other);
    UNROLL for (int m = 0; m < GROUPS; m++) weights.exponents[m] -= exponent;
#if NUMBERS == 1
    // TF32 keeps fewer bits of what float32 holds with fewer, and what is beyond its largest number is
    // infinite: a band with such numbers is computed from its definition.
    float most = __uint_as_float(range.most);
    if (most != 0.0f && (most < LEAST_SCALED || tf32(most) == INFINITY))
        weights.least.zero = weights.least.other = INFINITY;
#endif
#endif
    convert(raw, tile, scale);
    return weights;
}

// A team takes band after band.
__device__ __forceinline__ void bands(const given* x, const element* weights, result* out,
                                      int images, given* raw, word b, struct scales scales,
                                      const float shift[GROUPS] WHERE_ARGUMENT)
{
    const int apart = gridDim.x * (THREADS / TEAM), lane = threadIdx.x % 32;
    int buffer = 0;
    ROLLED for (int band = threadIdx.x / TEAM * gridDim.x + blockIdx.x; band < images * BANDS;
                band += apart) {
        given* own = raw + buffer * BAND_SIZE;
        narrow* tile = (narrow*)(X_NARROW ? own : raw + BAND_SIZE);
        struct scales back = scales;
        await_band(x, band, own);
#if SCALED
        if (FLAT) clear_rest(own, band);
#endif
        meet();
#if X_NARROW
        buffer ^= 1;
#else
        back = round_band(own, tile, scales);
        meet();
#endif
        if (FLAT && band + apart < images * BANDS)
            start_band(x, band + apart, raw + buffer * BAND_SIZE);
        const given* image = x + (size_t)(band / BANDS) * IMAGE_SIZE;
        int top = band % BANDS * BAND_ROWS;
        const size_t to = (size_t)(band / BANDS) * RESULT_SIZE + top * COLUMNS;
        // Spare warps repeat a task: four multiply together.
        for (int task = MEMBER / 32; task < TASKS; task += WORKERS)
            do_task(tile, b, back, shift, image, weights, out + to WHERE(to), lane % 4,
                    (task % STRIPS * 8 + lane / 4) * (2 / HALVES), top,
                    task / STRIPS % SEGMENTS * STEPS);
    }
}

// A block's work, with the weights in `shared` and the teams' bands after them.
__device__ __forceinline__ void do_block(const given* x, const element* weights, const float* bias,
                                         result* out, int images, char* shared WHERE_ARGUMENT)
{
    given* raw = (given*)(shared + WEIGHT_BYTES + threadIdx.x / TEAM * TEAM_BYTES);
    int band = threadIdx.x / TEAM * gridDim.x + blockIdx.x;
    // Memory that no copy reaches meets zeros of the mask, and must be finite.
    for (int e = MEMBER; e < TEAM_BYTES / 4; e += TEAM) ((unsigned*)raw)[e] = 0;
    meet();
    if (FLAT && band < images * BANDS) start_band(x, band, raw);
    for (int e = threadIdx.x; e < WEIGHT_BYTES / 16; e += THREADS)
        COPY_ASYNC(uint4, (uint4*)shared + e, (const uint4*)weights + e);
    float shift[GROUPS];
    struct scales scales;
    UNROLL for (int m = 0; m < GROUPS; m++) {
        int map = 4 * m + threadIdx.x % 4;
        shift[m] = map < MAPS ? bias[map] : 0.0f;
#if SCALED
        scales.exponents[m] = (int)weights[FOLDED + map];
#endif
    }
#if SCALED
    scales.least.other = weights[FOLDED + 4 * MAP_GROUPS];
#endif
    COPIES_DONE();
    fence_proxy_async();
    __syncthreads();
    word b = PLAIN_DESCRIPTOR((unsigned)__cvta_generic_to_shared(shared), SLAB_BYTES / 2);
    bands(x, weights, out, images, raw, b, scales, shift WHERE(0));
}
