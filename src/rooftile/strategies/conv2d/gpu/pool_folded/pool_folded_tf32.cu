// pool_folded_tf32: the pool's positions as columns of a product in TF32.
//
// As pool_folded, with inputs and weights rounded to TF32.  One instruction is eight
// elements deep: a row of a patch.  Their order is free where the weights have it too, so a lane
// reads elements 2t and 2t + 1 in one load, as the instruction's columns t and t + 4.  A band
// stays float32 in shared memory; it is rounded in registers, through which its rows rotate.
// What it removes: float16's narrow range.
//
// x[images][CHANNELS][HEIGHT][WIDTH]; weights[MAP_GROUPS][SLABS][2 rows][4][32 lanes], and
// behind them the rounded weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH]; bias[MAPS];
// out[images][MAPS][ROWS][COLUMNS].
// Block: WARPS warps.  A warp takes tasks, for a group of four maps.  `folded.h` says what a band, a
// strip and a task are.

#define FAMILY pool_folded_tf32
#include "common/mma.h"
#include "common/pipelines/pdl.h"
#include "common/rounded.h"
#include "conv2d/gpu/pool_folded/pooled.h"

#define RING (PATCH_SLABS + AHEAD)
#define FOLDED (256 * MAP_GROUPS * SLABS)

// Two rows of a patch for a lane's two windows, as an instruction takes them: a row of a slab
// in the window above, below, and the elements behind those likewise.
typedef unsigned slab[2][4];

__device__ __forceinline__ float tap(const float* weights, int map, int c, int p, int q)
{
    return weights[FOLDED + ((map * CHANNELS + c) * MASK_HEIGHT + p) * MASK_WIDTH + q];
}

__device__ __forceinline__ void load_slab(const float* patch, slab a)
{
    UNROLL for (int row = 0; row < 2; row++)
        UNROLL for (int below = 0; below < 2; below++) {
            const volatile float* two = patch + (2 * HALF_STEPS * below + row) * PITCH;
            a[row][below] = __float_as_uint(tf32(two[0]));
            a[row][2 + below] = __float_as_uint(tf32(two[1]));
        }
}

// Multiplies the patches of a row of windows by a group's folded masks.
__device__ __forceinline__ void multiply(const slab a[CHANNELS][RING], int turn,
                                         const unsigned b[SLABS][2][4],
                                         float sum[CHAINS][SUMS])
{
    UNROLL for (int chain = 0; chain < CHAINS; chain++)
        UNROLL for (int e = 0; e < SUMS; e++) sum[chain][e] = 0.0f;
    UNROLL for (int e = 0; e < 2 * SLABS; e++) {
        int s = e / 2, row = e % 2;
        // A slab's second row may be none of the patch.
        if (2 * (s % PATCH_SLABS) + row > MASK_HEIGHT) continue;
        const unsigned* rows = a[s / PATCH_SLABS][(turn + s % PATCH_SLABS) % RING][row];
        UNROLL for (int t = 0; t < 2; t++)
            multiply_add(sum[e % CHAINS] + 4 * t, rows, b[s][row] + 2 * t);
    }
    UNROLL for (int chain = 1; chain < CHAINS; chain++)
        UNROLL for (int e = 0; e < SUMS; e++) sum[0][e] += sum[chain][e];
}

// Loads the slabs that are new at a task's step.
__device__ __forceinline__ void load_step(const float* patch, int step, int turn,
                                          slab a[CHANNELS][RING])
{
    UNROLL for (int c = 0; c < CHANNELS; c++)
        load_slab(patch + c * TILE_SIZE + 2 * step * PITCH, a[c][turn % RING]);
}

// A warp walks down a task's rows of windows, and the patches' slabs pass through its registers.
// With AHEAD, the next row's slabs are on their way while this row's are multiplied.
__device__ __forceinline__ void do_task(const float* tile, const unsigned b[SLABS][2][4],
                                        const float shift[GROUPS], const float* image,
                                        const float* weights, float* results WHERE_ARGUMENT,
                                        int map, int window, int top, int start)
{
    const float* patch = tile + 2 * start * PITCH + 2 * window + 2 * (threadIdx.x % 4);
    const int at = map * MAP_PITCH + window / WINDOWS_RIGHT;
    slab a[CHANNELS][RING];
    UNROLL for (int s = 0; s < RING - 1; s++) load_step(patch, s, s, a);
    struct pooled most[GROUPS][2];
    bool doubtful = false;
    ROLLED for (int first = 0; first < STEPS; first += RING)
        UNROLL for (int u = 0; u < RING; u++) {
            int step = first + u;
            if (STEPS % RING && step >= STEPS) break;
            float sum[CHAINS][SUMS];
            if (!AHEAD) load_step(patch, step + RING - 1, u + RING - 1, a);
            multiply(a, u, b, sum);
            if (AHEAD && step + 1 < STEPS) load_step(patch, step + RING - 1, u + RING - 1, a);
            UNROLL for (int e = 0; e < 2 * GROUPS; e++) {
                int m = e / 2, half = e % 2;
                struct pooled four = of_four(sum[0] + 8 * m, half, shift[m]);
                const int to = at + 4 * m * MAP_PITCH;
                doubtful |= pool_step(four, &most[m][half], shift[m], step, start, half,
                                      results + to WHERE(to), map + 4 * m, window, top);
            }
        }
    repair_task(doubtful, image, weights, shift, results WHERE(0), map, window, top, start);
}

// A block takes band after band, through one buffer, or through two with the next band's copies
// under way.
__device__ __forceinline__ void bands(const float* x, const float* weights, float* out,
                                      int images, float* tiles, const unsigned b[SLABS][2][4],
                                      const float shift[GROUPS], int map,
                                      int worker WHERE_ARGUMENT)
{
    int band = blockIdx.x;
    if (FLAT && BUFFERS == 2 && band < images * BANDS) start_band(x, band, tiles);
    for (int turn = 0; band < images * BANDS; band += gridDim.x, turn ^= BUFFERS - 1) {
        float* tile = tiles + turn * BAND_SIZE;
        await_band(x, band, tile);
        meet();
        if (FLAT && BUFFERS == 2 && band + gridDim.x < images * BANDS)
            start_band(x, band + gridDim.x, tiles + (turn ^ 1) * BAND_SIZE);
        const float* image = x + (size_t)(band / BANDS) * IMAGE_SIZE;
        int top = band % BANDS * BAND_ROWS;
        const size_t to = (size_t)(band / BANDS) * RESULT_SIZE + top * COLUMNS;
        for (int task = worker; task < TASKS; task += WORKERS)
            do_task(tile, b, shift, image, weights, out + to WHERE(to), map,
                    task % STRIPS * 8 + threadIdx.x % 32 / 4, top,
                    task / STRIPS % SEGMENTS * STEPS);
    }
}

__global__ RESIDENT_BOUNDS(THREADS, LEAST_BLOCKS) void pool_folded_tf32(
    const float* x, const float* weights, const float* bias, float* __restrict__ out,
    int images WHERE_ARGUMENT)
{
    extern __shared__ __align__(128) char shared[];
    GRIDDEPCONTROL_WAIT();
    float* tiles = (float*)shared;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int worker = warp / MAP_GROUPS, group = warp % MAP_GROUPS;
    int map = group * 4 + lane % 4;
    // Memory that no copy reaches meets zeros of the mask, and must be finite.
    for (int e = threadIdx.x; e < BUFFERS * BAND_SIZE; e += THREADS) tiles[e] = 0.0f;
    float shift[GROUPS];
    UNROLL for (int m = 0; m < GROUPS; m++)
        shift[m] = map + 4 * m < MAPS ? bias[map + 4 * m] : 0.0f;
    unsigned b[SLABS][2][4];
    UNROLL for (int row = 0; row < 2 * SLABS; row++)
        UNROLL for (int e = 0; e < 4; e++)
            b[row / 2][row % 2][e] =
                ((const unsigned*)weights)[((group * SLABS * 2 + row) * 4 + e) * 32 + lane];
    __syncthreads();
    bands(x, weights, out, images, tiles, b, shift, map, worker WHERE(0));
}
