// Rungs 10 to 12, warpgroups: correlation of images with winners on Hopper's warpgroups.
//
// In `mma` a warp asks shared memory for the pixels of every product's columns, number by number,
// and turns each word of gradients over for each cell.  Here a warpgroup has one row of positions
// in a window.  A product's 64 rows are the positions of that row, each with TILE_MAPS maps; its
// terms are windows; its columns are the MASK_HEIGHT by 2 CHUNKS pixels around the positions, of
// four channels.  The left matrix, gradients among zeros, is made in registers; the right one is
// read in place by the cores: pixels.h says how it lies, so that all columns are equally far apart,
// and the next row of positions begins one row of pixels further down.  An image's products run
// while the next image is laid to another stage.  What it removes: reads of pixels by threads, and
// most instructions.  What it costs: products with zeros, all but one of a window's; pixels that
// lie several times in shared memory.
//
// Sums are made by block, then by `finish` over the blocks, in a fixed order.  Zeros make NaN of
// infinities: see mend.h.
//
// x[images][CHANNELS][HEIGHT][WIDTH] in float or, with X_NARROW, in the cores' own type;
// dy, in float or, with DY_NARROW, in that type too, and where: see common/places.h;
// partial[gridDim.x * KINDS][MAPS][COLUMNS_ALL]: a map's weights, then its bias.
// Grid: x over images, which blocks share out; y over groups of four channels; z over groups of
// TILE_MAPS maps and, within, KINDS pairs of rows of positions.  Block: two warpgroups, one a row.

#include "common/overlapping.h"
#include "common/warpgroups.h"
#include "conv2d_weights_gradient/gpu/mend.h"

#define WARPS 8
#define THREADS (32 * WARPS)
#define STEPS (ACROSS * DOWN)
#define TILE_MAPS (64 / WINDOW_WIDTH)
#define KINDS (WINDOW_HEIGHT / 2)
#define MAP_GROUP ((int)blockIdx.z / KINDS)
#define KIND ((int)blockIdx.z % KINDS)
#include "conv2d_weights_gradient/gpu/warpgroups/gradients.h"
#include "conv2d_weights_gradient/gpu/warpgroups/pixels.h"

// From a step's first half of terms to its second one: the next plane, or the next row of windows.
#define HALVES_APART (CORES == TF32 ? PLANE_BYTES : WINDOW_HEIGHT * ROW_BYTES)
#define PIXEL_BYTES (PLANES * PLANE_BYTES)
// Where a step's windows begin in a stage.
#define BEGIN(step)                                                                             \
    (COLUMN_OF_STEP(step) / PLANE_WINDOWS * PLANE_BYTES                                         \
     + ROW_OF_STEP(step) * WINDOW_HEIGHT * ROW_BYTES)
#define SUM_COLUMNS (2 * SUMS)
// A warp's 16 rows of a product have one position in their row, and one tile of maps.
#define WARP_ROW ((int)threadIdx.x / 32 % 4 * 16)

// Begins an image's products of a warpgroup.  The last TOGETHER of them may still be under way
// after that, but none of the image before: what they read must stay until they are complete.
__device__ __forceinline__ void multiply(float sum[SUMS], unsigned a[TOGETHER][4],
                                         const char* stage)
{
    int row = KIND * 2 + threadIdx.x / 128, tile = WARP_ROW % TILE_MAPS / 16;
    unsigned position = row * WINDOW_WIDTH + WARP_ROW / TILE_MAPS;
    unsigned from = (unsigned)__cvta_generic_to_shared(stage) + row * ROW_BYTES;
    // Of a matrix that lies across, as in 16 bits, a piece is eight terms, and those below each
    // other are the next columns.
    word b = PIECES_AT(from, HALVES_APART);
    ROLLED for (int first = 0; first < STEPS; first += TOGETHER) {
        UNROLL for (int k = 0; k < TOGETHER; k++) {
            // What was made of these words is complete; the products since then go on.
            AWAIT(a[k], TOGETHER - 1);
            winners(stage + PIXEL_BYTES, first + k, tile, position, a[k]);
            begin_products();
            PRODUCTS(sum, a[k], b + (BEGIN(first + k) >> 4));
            end_products();
        }
    }
}

// Asks for a thread's numbers of an image, if it is there.
__device__ __forceinline__ void ask_for_image(const given* x, const gradient_number* dy,
                                        const winner_place* where, int n, int images,
                                        struct pixels* pixels, struct gradients* gradients)
{
    if (n >= images) return;
    ask_for_pixels(x, n, pixels);
    ask_for_gradients(dy, where, n, gradients);
}

// Lays them to a stage.  Returns what they add to the bias.
__device__ __forceinline__ float lay_image(const struct pixels* pixels,
                                           const struct gradients* gradients, char* stage)
{
    lay_pixels(pixels, stage);
    lay_gradients(gradients, stage + PIXEL_BYTES);
    return sum_of(gradients);
}

// Stores the sums to joined[2 warpgroups][64][SUM_COLUMNS].
__device__ __forceinline__ void spread(const float sum[SUMS], float* joined)
{
    int lane = threadIdx.x % 32;
    int row = threadIdx.x / 128 * 64 + WARP_ROW + lane / 4;
    float* own = joined + row * SUM_COLUMNS + lane % 4 * 2;
    UNROLL for (int e = 0; e < SUMS; e += 2)
        *(float2*)(own + ROW_OF(e) * SUM_COLUMNS + COLUMN_OF(e)) = make_float2(sum[e], sum[e + 1]);
}

// Joins the sums of a weight: those of both rows and all columns of positions.
__device__ __forceinline__ void join(const float* joined, float* rows)
{
    for (int at = threadIdx.x; at < TILE_MAPS * 4 * TAPS; at += THREADS) {
        int of_four = at % 4, tap = at / 4 % TAPS, of_tile = at / 4 / TAPS;
        int channel = blockIdx.y * 4 + of_four, map = MAP_GROUP * TILE_MAPS + of_tile;
        int pixel = tap / MASK_WIDTH * 2 * CHUNKS + tap % MASK_WIDTH;
        float all = 0.0f;
        UNROLL for (int v = 0; v < 2 * WINDOW_WIDTH; v++) {
            int row = v * TILE_MAPS + of_tile;
            all += joined[row * SUM_COLUMNS + (pixel + v % WINDOW_WIDTH) * 4 + of_four];
        }
        if (map < MAPS && channel < CHANNELS) rows[map * COLUMNS_ALL + channel * TAPS + tap] = all;
    }
}

// Joins what threads added to their maps' biases: four lanes of some warps.  One kind of blocks
// tells them.
__device__ __forceinline__ void join_biases(float bias, float* joined, float* rows)
{
    bias += __shfl_xor_sync(~0u, bias, 1);
    bias += __shfl_xor_sync(~0u, bias, 2);
    joined[threadIdx.x] = bias;
    __syncthreads();
    int own = own_map(), map = MAP_GROUP * TILE_MAPS + own;
    int tells = threadIdx.x < TILE_MAPS * 4 && threadIdx.x % 4 == 0 && blockIdx.y == 0;
    if (!tells || map >= MAPS) return;
    float all = 0.0f;
    for (int k = threadIdx.x; k < THREADS; k += TILE_MAPS * 4) all += joined[k];
    rows[map * COLUMNS_ALL + CHANNELS * TAPS] = KIND == 0 ? all : 0.0f;
}

__global__ void LAUNCH_BOUNDS(THREADS)
weights_partial(const GLOBAL given* x, const GLOBAL gradient_number* dy,
                WHERE_ARGUMENT GLOBAL float* __restrict__ partial, int images)
{
    extern __shared__ __align__(128) char shared[];
    float sum[SUMS], bias = 0.0f;
    unsigned a[TOGETHER][4];
    struct pixels pixels;
    struct gradients gradients;
    UNROLL for (int e = 0; e < SUMS; e++) sum[e] = 0.0f;
    UNROLL for (int e = 0; e < 4 * TOGETHER; e++) a[e / 4][e % 4] = 0;
    AWAIT_EARLIER();
    ask_for_image(x, dy, where, blockIdx.x, images, &pixels, &gradients);
    bias += lay_image(&pixels, &gradients, shared);
    shared_ready();
    ask_for_image(x, dy, where, blockIdx.x + gridDim.x, images, &pixels, &gradients);
    __syncthreads();

    // While an image is multiplied, the next one is laid, and the one after it is on its way to
    // registers.  With three stages the cores have work at hand from one image to the next.
    int n = blockIdx.x, turn = 0;
    do {
        int next = n + gridDim.x, behind = turn + 1 < STAGES ? turn + 1 : 0;
        multiply(sum, a, shared + turn * STAGE_BYTES);
        if (next < images) bias += lay_image(&pixels, &gradients, shared + behind * STAGE_BYTES);
        // Before more is asked for, whose arrival it might wait for.
        shared_ready();
        ask_for_image(x, dy, where, next + gridDim.x, images, &pixels, &gradients);
        if (STAGES == 2) COMPLETE(sum, a);
        __syncthreads();
        n = next, turn = behind;
    } while (n < images);
    COMPLETE(sum, a);
    __syncthreads();

    float* rows = partial + (int64)(blockIdx.x * KINDS + KIND) * MAPS * COLUMNS_ALL;
    spread(sum, (float*)shared);
    __syncthreads();
    join((const float*)shared, rows);
    __syncthreads();
    join_biases(bias, (float*)shared, rows);
}
