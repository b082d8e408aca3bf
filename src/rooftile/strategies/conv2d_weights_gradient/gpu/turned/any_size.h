// Gradients of any size, as numbers of float16: that has as many bits as TF32 and takes half the time,
// but not its range.
//
// A warp multiplies its gradients by a power of two, its unit, which sums have too.  It keeps the unit
// from image to image while gradients fit; else it takes the one that brings the image's largest to
// 2^14, and brings its sums to that, which changes no bit.  An image whose gradients are further apart
// than float16's normal numbers is multiplied several times, each time by those gradients that the
// units before had no room for, at a unit 2^29 times as large.  So each gradient is rounded once, to 11
// bits.  Those 2^98 times smaller than the largest that the warp has met are left out: float32 has no
// room for sums in units so far apart.

#pragma once

#include "common/scaled_numbers.h"
#include "common/tf32.h"

#define LEAST_NORMAL 0x1p-14f
#define FLT_LEAST_NORMAL 0x1p-126f
#define BEYOND 0x1p15f
#define APART 0x1p70f
#define MOST_UP 0x1p126f

// A warp's unit, and the largest gradient it has met.
struct unit { float up, largest; };
// Of an image's gradients the largest finite one, and the least that is not zero.
struct extent { float most, least; };
// The gradients of a pass: times `up`, of which, where there are several passes, ones below
// LEAST_NORMAL are left for later, and ones above `met` belong to an earlier pass.
struct sizes { float up, met; int several; };

#define SIZES_ARGUMENT , const struct sizes sizes
#define SIZES , sizes
#define SIZED(gradient) sized(gradient, sizes)

__device__ __forceinline__ float sized(float gradient, const struct sizes sizes)
{
    if (!sizes.several) return gradient * sizes.up;
    // TF32's own subnormal numbers have fewer bits.  NaN stays.
    float made = tf32(gradient) * sizes.up;
    return fabsf(made) < LEAST_NORMAL || fabsf(made) > sizes.met ? 0.0f : made;
}

// Adjacent gradients that a lane looks at together; eight lanes have a map's eight columns of as
// many rows.
#define LOOKED (COLUMNS % 4 == 0 ? 4 : 2)
typedef struct __align__(4 * LOOKED) { float of[LOOKED]; } looked;

// The largest magnitude of a lane's share of its warp's gradients, and twice the bits of the least that
// is not zero, less one.
__device__ __forceinline__ void look(const char* stage, const bool infinite, float* most, unsigned* before)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, top = warp / ACROSS * 2 * PART;
    int column = warp % ACROSS * 8 + lane % (8 / LOOKED) * LOOKED;
    const float* dy = (const float*)(stage + PIXEL_BYTES) + lane / 8 * GIVEN_PITCH + column;
    if (COLUMNS % 8 > 0 && column >= COLUMNS) return;
    UNROLL_BY(5) for (int first = 0; first < 2 * PART; first += LOOKED) {
        int row = first + lane % 8 / (8 / LOOKED);
        if (2 * PART % LOOKED > 0 && row >= 2 * PART) continue;
        if (ROWS % (2 * SEGMENTS) > 0 && top + row >= ROWS) continue;
        looked some = *(const looked*)(dy + (top + row) * COLUMNS);
        UNROLL for (int v = 0; v < LOOKED; v++) {
            float magnitude = fabsf(some.of[v]);
            if (infinite || magnitude < INFINITY) *most = fmaxf(*most, magnitude);
            *before = min(*before, 2 * __float_as_uint(some.of[v]) - 1);
        }
    }
}

__device__ __forceinline__ struct extent extent_of(const char* stage)
{
    float most = 0.0f;
    unsigned before = ~0u;
    look(stage, true, &most, &before);
    // Infinities are few.
    if (__any_sync(~0u, most == INFINITY)) most = 0.0f, look(stage, false, &most, &before);
    before = __reduce_min_sync(~0u, before);
    most = __uint_as_float(__reduce_max_sync(~0u, __float_as_uint(most)));
    struct extent extent = {most, before == ~0u ? INFINITY : __uint_as_float((before + 1) / 2)};
    return extent;
}

// The largest unit that float32 has room for.
__device__ __forceinline__ float most_up(struct unit unit)
{
    return fminf(scale_to(unit.largest) * APART, MOST_UP);
}

// The first pass of an image.
__device__ __forceinline__ struct sizes first_sizes(struct extent extent, struct unit* unit)
{
    unit->largest = fmaxf(unit->largest, extent.most);
    struct sizes sizes = {unit->up, INFINITY, 0};
    if (extent.most * sizes.up >= BEYOND || extent.least * sizes.up < LEAST_NORMAL)
        sizes.up = fminf(scale_to(extent.most), most_up(*unit));
    sizes.several = extent.least * sizes.up < LEAST_NORMAL || extent.least < FLT_LEAST_NORMAL;
    return sizes;
}

// The next pass, where any gradient is left.
__device__ __forceinline__ bool next_sizes(struct extent extent, struct unit unit, struct sizes* sizes)
{
    float up = fminf(sizes->up * 0x1p29f, most_up(unit));
    if (extent.least * sizes->up >= LEAST_NORMAL || up <= sizes->up) return false;
    // Just what was too small for the unit before.
    sizes->met = __uint_as_float(__float_as_uint(LEAST_NORMAL * (up / sizes->up)) - 1);
    sizes->up = up;
    return true;
}

// Brings sums to another unit.
__device__ __forceinline__ void bring(float sum[PAIRS][TILES][4], float* bias, struct unit* unit, float up)
{
    if (unit->up == up) return;
    float ratio = up * over(0, unit->up);
    UNROLL for (int pair = 0; pair < PAIRS; pair++)
        UNROLL for (int t = 0; t < TILES; t++)
            UNROLL for (int e = 0; e < 4; e++) sum[pair][t][e] *= ratio;
    *bias *= ratio;
    unit->up = up;
}
