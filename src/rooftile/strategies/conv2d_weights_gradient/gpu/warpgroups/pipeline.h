// The roles of a block's warpgroups: two store images to a ring of stages, and two multiply, and
// build the left matrices of the steps to come. So cores wait neither for pixels nor for a barrier
// of the whole block.

#pragma once

#include "common/pipelines/stages.h"
#include "common/pipelines/wgmma.h"
#include "conv2d_weights_gradient/gpu/warpgroups/scales.h"

#define SUM_COLUMNS (2 * SUMS)
// Images that are on their way to the L2 cache.
#define FORESEEN (AHEAD + 2)
// The address of a stage's gradients, and the exponent of its products' scale.
#define GRADIENTS_AT PIXEL_BYTES
#define EXPONENT_AT (STAGE_BYTES - 16)
// A warp's 16 rows of a product have one column of positions, and one tile of maps.
#define WARP_ROW ((int)threadIdx.x / 32 % 4 * 16)

// Begins an image's products of a warpgroup.  The last TOGETHER of them may still be under way
// after that, but none of the image before: once that shows, its stage is told to be empty.
__device__ __forceinline__ void multiply(float sum[SUMS], unsigned a[TOGETHER][LEFT_WORDS],
                                         const char* stage, unsigned* before)
{
    int pair = IN_TURN ? KIND : KIND * 2 + WARPGROUP, tile = WARP_ROW % TILE_MAPS / 16;
    unsigned column = pair * WINDOW_WIDTH + WARP_ROW / TILE_MAPS;
    unsigned from = (unsigned)__cvta_generic_to_shared(stage) + (1 + pair * 2) * ROW_BYTES;
    // Of a matrix that is stored across a piece is eight terms, and the pieces below are the next
    // columns.
    word b = PLAIN_DESCRIPTOR(from, WINDOWS_APART);
    struct words next = words_of(stage + GRADIENTS_AT, 0, tile);
    ROLLED for (int first = 0; first < STEPS; first += TOGETHER) {
        UNROLL for (int k = 0; k < TOGETHER; k++) {
            // The products of these words are complete; later products go on.
            WGMMA_WAIT_FOR_TERMS(a[k], TOGETHER - 1);
            if (k == TOGETHER - 1) {
                // One lane tells it for all, whose words came from that stage too.
                __syncwarp();
                consumer_release(before);
            }
            winners(next, column, a[k]);
            // The next step's words come while this one is multiplied.
            if (first + k + 1 < STEPS) next = words_of(stage + GRADIENTS_AT, first + k + 1, tile);
            WGMMA_FENCE(sum, a[k]);
            PRODUCTS(sum, a[k], a[k][4], b + (BEGIN(first + k) >> 4));
            wgmma_commit();
        }
    }
}

// Sums up the products of a warpgroup's images, as they are laid.  Returns the exponent of their scale.
__device__ __forceinline__ int multiply_images(float sum[SUMS], const char* stages,
                                                unsigned barriers, int images)
{
    struct pipeline_state pipe = {0, 0};
    int exponent = 2 * MOST_EXPONENT;
    unsigned a[TOGETHER][LEFT_WORDS], done = 0;
    UNROLL for (int e = 0; e < SUMS; e++) sum[e] = 0.0f;
    UNROLL for (int e = 0; e < LEFT_WORDS * TOGETHER; e++) a[e / LEFT_WORDS][e % LEFT_WORDS] = 0;
    WGMMA_FENCE_SUMS(sum, a);
    if (IN_TURN && WARPGROUP) advance(&pipe, STAGES);
    int first = blockIdx.x + (IN_TURN ? WARPGROUP * gridDim.x : 0);
    ROLLED for (int n = first; n < images; n += gridDim.x * (1 + IN_TURN)) {
        const char* stage = stages + pipe.stage * STAGE_BYTES;
        consumer_wait(barriers, pipe);
#if SCALED
        int before = exponent;
        exponent = *(const int*)(stage + EXPONENT_AT);
        if (exponent < before) {
            WGMMA_WAIT_FOR(sum, a);
            float shrinking = before - exponent > 126 ? 0.0f : POWER(exponent - before);
            UNROLL for (int e = 0; e < SUMS; e++) sum[e] *= shrinking;
        }
#endif
        multiply(sum, a, stage, &done);
        done = EMPTY_BARRIER(barriers, pipe.stage, STAGES);
        if (IN_TURN && STAGES == 2) {
            // The next image waits for this one's stage.
            WGMMA_WAIT_FOR(sum, a);
            __syncwarp();
            consumer_release(&done);
        }
        UNROLL for (int each = 0; each <= IN_TURN; each++) advance(&pipe, STAGES);
    }
    WGMMA_WAIT_FOR(sum, a);
    return exponent;
}

// Prefetches bytes to the L2 cache, unless they begin or end within 16.
__device__ __forceinline__ void foresee(const void* from, int bytes)
{
    if (((word)from | bytes) % 16 == 0)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes));
}

// Has an image brought to the L2 cache, if it is there.
__device__ __forceinline__ void foresee_image(const given* x, const gradient_number* dy,
                                              const winner_place* where, int n, int images)
{
    const int pixels = CHANNELS * PLANE, winners = MAPS * GRADIENTS;
    if (threadIdx.x > 0 || n >= images) return;
    foresee(x + (int64)n * pixels, pixels * (int)sizeof(given));
    foresee(dy + (int64)n * winners, winners * (int)sizeof(gradient_number));
    foresee(where + (int64)n * winners, winners * (int)sizeof(winner_place));
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
__device__ __forceinline__ float lay_image(const struct pixels* pixels, const struct gradients* gradients,
                                           struct scale scale, char* stage)
{
    // In this order the fewest numbers are in registers.
    float sum = sum_of(gradients);
    lay_gradients(gradients, scale.gradients, stage + GRADIENTS_AT);
    lay_pixels(pixels, scale.pixels, stage);
    if (SCALED && threadIdx.x == 0) *(int*)(stage + EXPONENT_AT) = scale.product;
    return sum;
}

// Lays a block's images to the stages, as these become empty.  AHEAD images are on their way to registers
// meanwhile.  Returns what a thread's gradients add to the bias.
__device__ __forceinline__ float lay_images(const given* x, const gradient_number* dy,
                                            const winner_place* where, char* stages,
                                            unsigned barriers, int images, struct told* told)
{
    __shared__ uint2 of_warps[2][WARPS];
    struct pixels pixels[AHEAD];
    struct gradients gradients[AHEAD];
    struct pipeline_state pipe = {0, 0};
    struct scales scales = no_scales();
    float bias = 0.0f;
    int across = gridDim.x, odd = 0;
    for (int k = 0; k < FORESEEN; k++) foresee_image(x, dy, where, blockIdx.x + k * across, images);
    UNROLL for (int k = 0; k < AHEAD; k++)
        ask_for_image(x, dy, where, blockIdx.x + k * across, images, &pixels[k], &gradients[k]);
    ROLLED for (int first = blockIdx.x; first < images; first += AHEAD * across)
        UNROLL for (int k = 0; k < AHEAD; k++) {
            int n = first + k * across;
            if (n >= images) break;
            struct scale scale = {};
            if (SCALED) {
                struct ranges own = measured(&pixels[k], &gradients[k], &scales);
                scale = next_scale(&scales, own, largest(own, of_warps[odd]));
                odd ^= 1;
            }
            producer_acquire(barriers, pipe, STAGES);
            bias += lay_image(&pixels[k], &gradients[k], scale, stages + pipe.stage * STAGE_BYTES);
            // Before more is asked for, whose arrival it might wait for.
            fence_proxy_async();
            __syncwarp();
            if (threadIdx.x % 32 == 0) barrier_arrive(FULL_BARRIER(barriers, pipe.stage));
            advance(&pipe, STAGES);
            foresee_image(x, dy, where, n + FORESEEN * across, images);
            ask_for_image(x, dy, where, n + AHEAD * across, images, &pixels[k], &gradients[k]);
        }
    if (SCALED) tell(&scales, told);
    return bias;
}

// Sets up the barriers of the stages, after these. Each warp arrives at them: where IN_TURN, one
// warpgroup's warps when a stage is empty; and the report on sums.
__device__ __forceinline__ unsigned init_pipeline(char* shared, struct told* told)
{
    unsigned barriers = (unsigned)__cvta_generic_to_shared(shared) + BARRIERS_AT;
    if (threadIdx.x == 0) {
        init_stages(barriers, STAGES, WARPS, WARPS / (1 + IN_TURN));
        fence_barrier_init();
        *told = {};
    }
    __syncthreads();
    return barriers;
}

// Waits for those that multiply.
__device__ __forceinline__ void meet_multipliers(void)
{
    asm volatile("bar.sync %0, %1;" ::"n"(1), "n"(THREADS) : "memory");
}

// Stores the sums to joined[2 warpgroups][64][SUM_COLUMNS], without their scale.
__device__ __forceinline__ void spread(const float sum[SUMS], int exponent, float* joined)
{
    int lane = threadIdx.x % 32;
    int row = WARPGROUP * 64 + WARP_ROW + lane / 4;
    float* own = joined + row * SUM_COLUMNS + lane % 4 * 2;
    UNROLL for (int e = 0; e < SUMS; e += 2) {
        float2 two = make_float2(sum[e], sum[e + 1]);
        if (SCALED) two = make_float2(unscaled(sum[e], exponent), unscaled(sum[e + 1], exponent));
        *(float2*)(own + ROW_OF(e) * SUM_COLUMNS + COLUMN_OF(e)) = two;
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
    int own = OWN_MAP, map = MAP_GROUP * TILE_MAPS + own;
    int tells = threadIdx.x < TILE_MAPS * 4 && threadIdx.x % 4 == 0 && blockIdx.y == 0;
    if (!tells || map >= MAPS) return;
    float all = 0.0f;
    for (int k = threadIdx.x; k < THREADS; k += TILE_MAPS * 4) all += joined[k];
    rows[map * COLUMNS_TOLD + CHANNELS * TAPS] = KIND == 0 ? all : 0.0f;
}

// Tells what the sums may miss.
__device__ __forceinline__ void tell_doubts(const struct told* told, float* rows)
{
    int own = threadIdx.x / 4, of_four = threadIdx.x % 4;
    int map = MAP_GROUP * TILE_MAPS + own, channel = blockIdx.y * 4 + of_four;
    if (own >= TILE_MAPS || map >= MAPS || channel >= CHANNELS) return;
    rows[map * COLUMNS_TOLD + COLUMNS_ALL + channel] = doubt(told, own, of_four);
}

// A block's work: its sums, in float32, are joined[2 warpgroups][64][SUM_COLUMNS] in shared memory then.
// Each warp is in one of both roles to its end: only so do compilers let a role have registers of its
// own, and products overlap.  Returns what a thread's gradients add to the bias.
__device__ __forceinline__ float work(const given* x, const gradient_number* dy,
                                      const winner_place* where, char* shared, int images,
                                      struct told* told)
{
    unsigned barriers = init_pipeline(shared, told);
    float bias = 0.0f;
    GRIDDEPCONTROL_WAIT();
    if (threadIdx.x < THREADS) {
        SETMAXNREG_DEC(LAYING_REGISTERS);
        bias = lay_images(x, dy, where, shared, barriers, images, told);
    } else {
        SETMAXNREG_INC(MULTIPLYING_REGISTERS);
        float sum[SUMS];
        int exponent = multiply_images(sum, shared, barriers, images);
        // Nothing is read of the stages any more.
        meet_multipliers();
        spread(sum, exponent, (float*)shared);
    }
    __syncthreads();
    return bias;
}
