// warpgroups: correlation of images with argmax gradients on Hopper's warpgroups.
//
// In `mma` a warp loads the pixels of every product's columns from shared memory, number by number,
// and examines each word of gradients for each cell. Here a warpgroup has a pair of rows of
// positions in a window. A product's 64 rows are the columns of that pair, each with TILE_MAPS
// maps; its terms are windows, twice: for both rows of the pair, of which a map's argmax is in one
// at most, so that products are sparse ones, which skip every other term. Its columns are the
// MASK_HEIGHT by 2 CHUNKS pixels around the positions, of four channels. The left matrix, gradients
// among zeros, is made in registers; the right one is read in place by the cores: pixels.h has its
// layout, in which all columns are equally far apart, and the next pair begins two rows of pixels
// further down. What it removes: reads of pixels by threads, half of the products with zeros, and
// most instructions. What it costs: products with the remaining zeros, all but one of eight; pixels
// that are in shared memory several times.
//
// Two warpgroups multiply, and build the left matrices of the steps to come. Two others store
// images to a ring of stages, so that cores wait neither for pixels nor for a barrier of the whole
// block.
//
// At `tf32` numbers are float16, whose bits are as many, and scaled: see scales.h.
//
// Sums are made by block, then by `finish` over the blocks, in a fixed order.  Zeros make NaN of
// infinities: see mend.h.
//
// x[images][CHANNELS][HEIGHT][WIDTH] in float or, with X_NARROW, in the cores' own type;
// dy, in float or, with DY_NARROW, in that type too, and where: see common/places.h;
// partial[gridDim.x * KINDS][MAPS][COLUMNS_TOLD]: a map's weights, then its bias, then its doubts.
// Grid: x over images, which blocks share out; y over groups of four channels; z over groups of
// TILE_MAPS maps and, within, KINDS of two pairs of rows of positions or, where IN_TURN, of one.
// Block: two warpgroups that store, and two that multiply, one a pair or, where IN_TURN, every
// other image.

#define FAMILY warpgroups
#include "common/pipelines/pdl.h"
#if SCALED
#include "conv2d_weights_gradient/gpu/doubts.h"
#else
#include "conv2d_weights_gradient/gpu/mend.h"
#endif

// The state of a block's threads.
#define TILE_MAPS (64 / WINDOW_WIDTH)
#define MAP_GROUP ((int)blockIdx.z / KINDS)
#define KIND ((int)blockIdx.z % KINDS)
#define STEPS (ACROSS * DOWN)
// The first of a step's windows in a stage, with this distance of rows of windows.
#define BEGIN(step) ((step) / DOWN * PLANE_BYTES + (step) % DOWN * 4 * WINDOWS_APART)
#define WINDOWS_APART (WINDOW_HEIGHT * ROW_BYTES)
#include "conv2d_weights_gradient/gpu/warpgroups/pipeline.h"

// Joins the sums of a weight: both warpgroups' and all columns' of positions; NaN, where they are
// to be recomputed.
__device__ __forceinline__ void join(const float* joined, const struct told* told, float* rows)
{
    for (int at = threadIdx.x; at < TILE_MAPS * 4 * TAPS; at += ALL_THREADS) {
        int of_four = at % 4, tap = at / 4 % TAPS, of_tile = at / 4 / TAPS;
        int channel = blockIdx.y * 4 + of_four, map = MAP_GROUP * TILE_MAPS + of_tile;
        int pixel = tap / MASK_WIDTH * 2 * CHUNKS + tap % MASK_WIDTH;
        float all = 0.0f;
        UNROLL for (int v = 0; v < 2 * WINDOW_WIDTH; v++) {
            int row = v * TILE_MAPS + of_tile;
            all += joined[row * SUM_COLUMNS + (pixel + v % WINDOW_WIDTH) * 4 + of_four];
        }
        if (SCALED && told->found & HARD) all = __int_as_float(0x7fffffff);
        if (map < MAPS && channel < CHANNELS) rows[map * COLUMNS_TOLD + channel * TAPS + tap] = all;
    }
}

__global__ __launch_bounds__(ALL_THREADS, 1) void warpgroups(
    const given* x, const gradient_number* dy, WHERE_ARGUMENT float* __restrict__ partial,
    int images)
{
    extern __shared__ __align__(128) char shared[];
    __shared__ struct told told;
    float bias = work(x, dy, where, shared, images, &told);
    float* rows = partial + (int64)(blockIdx.x * KINDS + KIND) * MAPS * COLUMNS_TOLD;
    join((const float*)shared, &told, rows);
    if (SCALED) tell_doubts(&told, rows);
    __syncthreads();
    join_biases(bias, (float*)shared, rows);
}
