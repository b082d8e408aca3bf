// Rungs 10 to 12, warpgroups: correlation of images with winners on Hopper's warpgroups.
//
// In `mma` a warp asks shared memory for the pixels of every product's columns, number by number,
// and turns each word of gradients over for each cell.  Here a warpgroup has one row of positions
// in a window.  A product's 64 rows are the positions of that row, each with TILE_MAPS maps; its
// terms are windows; its columns are the MASK_HEIGHT by 2 CHUNKS pixels around the positions, of
// four channels.  The left matrix, gradients among zeros, is made in registers; the right one is
// read in place by the cores: pixels.h says how it lies, so that all columns are equally far apart,
// and the next row of positions begins one row of pixels further down.  What it removes: reads of
// pixels by threads, and most instructions.  What it costs: products with zeros, all but one of a
// window's; pixels that lie several times in shared memory.
//
// Two warpgroups multiply, and build the left matrices of the steps to come.  Two others lay images
// to a ring of stages, so that cores wait neither for pixels nor for a barrier of the whole block.
//
// Sums are made by block, then by `finish` over the blocks, in a fixed order.  Zeros make NaN of
// infinities: see mend.h.
//
// x[images][CHANNELS][HEIGHT][WIDTH] in float or, with X_NARROW, in the cores' own type;
// dy, in float or, with DY_NARROW, in that type too, and where: see common/places.h;
// partial[gridDim.x * KINDS][MAPS][COLUMNS_ALL]: a map's weights, then its bias.
// Grid: x over images, which blocks share out; y over groups of four channels; z over groups of
// TILE_MAPS maps and, within, KINDS pairs of rows of positions.  Block: two warpgroups that lay,
// and two that multiply, one a row.

#include "common/overlapping.h"
#include "common/warpgroups.h"
#include "conv2d_weights_gradient/gpu/mend.h"

#define WARPS 8
// Those that lay, before as many that multiply.
#define THREADS (32 * WARPS)
#define ALL_THREADS (2 * THREADS)
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
// after that, but none of the image before: once that shows, its stage is told to be empty.
__device__ __forceinline__ void multiply(float sum[SUMS], unsigned a[TOGETHER][4],
                                         const char* stage, unsigned* before)
{
    int row = KIND * 2 + threadIdx.x / 128 % 2, tile = WARP_ROW % TILE_MAPS / 16;
    unsigned position = row * WINDOW_WIDTH + WARP_ROW / TILE_MAPS;
    unsigned from = (unsigned)__cvta_generic_to_shared(stage) + row * ROW_BYTES;
    // Of a matrix that lies across, as in 16 bits, a piece is eight terms, and those below each
    // other are the next columns.
    word b = PIECES_AT(from, HALVES_APART);
    struct words next = words_of(stage + PIXEL_BYTES, 0, tile);
    ROLLED for (int first = 0; first < STEPS; first += TOGETHER) {
        UNROLL for (int k = 0; k < TOGETHER; k++) {
            // What was made of these words is complete; the products since then go on.
            AWAIT(a[k], TOGETHER - 1);
            if (k == TOGETHER - 1) {
                // One lane tells it for all, whose words came from that stage too.
                __syncwarp();
                release(before);
            }
            winners(next, position, a[k]);
            // The next step's words come while this one is multiplied.
            if (first + k + 1 < STEPS) next = words_of(stage + PIXEL_BYTES, first + k + 1, tile);
            BEGIN_PRODUCTS(sum, a[k]);
            PRODUCTS(sum, a[k], b + (BEGIN(first + k) >> 4));
            end_products();
        }
    }
}

// Sums up the products of a block's images, as they are laid.
__device__ __forceinline__ void multiply_images(float sum[SUMS], const char* stages,
                                                unsigned barriers, int images)
{
    struct turn turn = {0, 0};
    unsigned a[TOGETHER][4], before = 0;
    UNROLL for (int e = 0; e < SUMS; e++) sum[e] = 0.0f;
    UNROLL for (int e = 0; e < 4 * TOGETHER; e++) a[e / 4][e % 4] = 0;
    BEGIN_SUMS(sum, a);
    ROLLED for (int n = blockIdx.x; n < images; n += gridDim.x) {
        wait(FULL(barriers, turn.at), turn.round);
        multiply(sum, a, stages + turn.at * STAGE_BYTES, &before);
        before = EMPTY(barriers, turn.at, STAGES);
        advance(&turn, STAGES);
    }
    COMPLETE(sum, a);
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

// Lays a block's images to the stages, as these become empty.  AHEAD images are on their way to
// registers meanwhile.  Returns what a thread's gradients add to the bias.
__device__ __forceinline__ float lay_images(const given* x, const gradient_number* dy,
                                            const winner_place* where, char* stages,
                                            unsigned barriers, int images)
{
    struct pixels pixels[AHEAD];
    struct gradients gradients[AHEAD];
    struct turn turn = {0, 0};
    float bias = 0.0f;
    UNROLL for (int k = 0; k < AHEAD; k++)
        ask_for_image(x, dy, where, blockIdx.x + k * gridDim.x, images, &pixels[k], &gradients[k]);
    ROLLED for (int first = blockIdx.x; first < images; first += AHEAD * gridDim.x)
        UNROLL for (int k = 0; k < AHEAD; k++) {
            int n = first + k * gridDim.x;
            if (n >= images) break;
            wait(EMPTY(barriers, turn.at, STAGES), turn.round ^ 1);
            bias += lay_image(&pixels[k], &gradients[k], stages + turn.at * STAGE_BYTES);
            // Before more is asked for, whose arrival it might wait for.
            shared_ready();
            __syncwarp();
            if (threadIdx.x % 32 == 0) arrive(FULL(barriers, turn.at));
            advance(&turn, STAGES);
            ask_for_image(x, dy, where, n + AHEAD * gridDim.x, images, &pixels[k], &gradients[k]);
        }
    return bias;
}

// Sets up the barriers of the stages, behind these, of which each warp tells.
__device__ __forceinline__ unsigned set_up(char* shared)
{
    unsigned barriers = (unsigned)__cvta_generic_to_shared(shared) + BARRIERS_AT;
    if (threadIdx.x == 0) {
        for (int at = 0; at < 2 * STAGES; at++) expect(WARPS, barriers + 8 * at);
        barriers_ready();
    }
    __syncthreads();
    return barriers;
}

// Waits for those that multiply.
__device__ __forceinline__ void meet_multipliers(void)
{
    asm volatile("bar.sync %0, %1;" ::"n"(1), "n"(THREADS) : "memory");
}

// Stores the sums to joined[2 warpgroups][64][SUM_COLUMNS].
__device__ __forceinline__ void spread(const float sum[SUMS], float* joined)
{
    int lane = threadIdx.x % 32;
    int row = threadIdx.x / 128 % 2 * 64 + WARP_ROW + lane / 4;
    float* own = joined + row * SUM_COLUMNS + lane % 4 * 2;
    UNROLL for (int e = 0; e < SUMS; e += 2)
        *(float2*)(own + ROW_OF(e) * SUM_COLUMNS + COLUMN_OF(e)) = make_float2(sum[e], sum[e + 1]);
}

// Joins the sums of a weight: those of both rows and all columns of positions.
__device__ __forceinline__ void join(const float* joined, float* rows)
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
        if (map < MAPS && channel < CHANNELS) rows[map * COLUMNS_ALL + channel * TAPS + tap] = all;
    }
}

// Joins what threads added to their maps' biases: four lanes of some warps.  One kind of blocks
// tells them.
__device__ __forceinline__ void join_biases(float bias, float* joined, float* rows)
{
    bias += __shfl_xor_sync(~0u, bias, 1);
    bias += __shfl_xor_sync(~0u, bias, 2);
    if (threadIdx.x < THREADS) joined[threadIdx.x] = bias;
    __syncthreads();
    int own = own_map(), map = MAP_GROUP * TILE_MAPS + own;
    int tells = threadIdx.x < TILE_MAPS * 4 && threadIdx.x % 4 == 0 && blockIdx.y == 0;
    if (!tells || map >= MAPS) return;
    float all = 0.0f;
    for (int k = threadIdx.x; k < THREADS; k += TILE_MAPS * 4) all += joined[k];
    rows[map * COLUMNS_ALL + CHANNELS * TAPS] = KIND == 0 ? all : 0.0f;
}

// Each warp is in one of both roles to its end: only so do compilers let a role have registers of
// its own, and products overlap.
__global__ __launch_bounds__(ALL_THREADS, 1) void weights_partial(
    const given* x, const gradient_number* dy, WHERE_ARGUMENT float* __restrict__ partial,
    int images)
{
    extern __shared__ __align__(128) char shared[];
    unsigned barriers = set_up(shared);
    float bias = 0.0f;
    AWAIT_EARLIER();
    if (threadIdx.x < THREADS) {
        FEWER_REGISTERS(LAYING_REGISTERS);
        bias = lay_images(x, dy, where, shared, barriers, images);
    } else {
        MORE_REGISTERS(MULTIPLYING_REGISTERS);
        float sum[SUMS];
        multiply_images(sum, shared, barriers, images);
        // Nothing is read of the stages any more.
        meet_multipliers();
        spread(sum, (float*)shared);
    }
    __syncthreads();
    float* rows = partial + (int64)(blockIdx.x * KINDS + KIND) * MAPS * COLUMNS_ALL;
    join((const float*)shared, rows);
    __syncthreads();
    join_biases(bias, (float*)shared, rows);
}
