// pool_folded: the pooling window's positions as columns of a matrix product.
//
// Four neighbouring outputs of a map, 2x2 of them, read one patch of (MASK + 1)^2 inputs.
// With the mask shifted to each of the four places and zeros around it, they are four
// columns of a matrix product over that patch, which tensor cores compute from the
// image in shared memory: nothing is unrolled.  The columns are ordered so
// that one thread holds a map's four positions: bias, activation and pool happen in
// registers, and the convolution's output never exists in memory.  From one row of
// windows to the next only two rows of the patch are new; the others stay in registers.
// What it removes: the FMA units' limit, and the traffic between convolution and pool.
// With STAGED, a band's results, and their argmax, wait in shared memory, and are stored in whole
// lines while the next band is computed, not in the small pieces in which warps have them: the
// cache takes no more pieces a second than lines.
//
// With SCALED, x is stored in float16, and weights have TF32's range: `tf32_in_float16.h` says how.
//
// x[images][CHANNELS][HEIGHT][WIDTH] in float or, with X_NARROW, in the cores' own type;
// weights[MAP_GROUPS][SLABS][4][32 lanes], pairs of elements as a lane holds them, rounded by a
// kernel before; bias[MAPS];
// out[images][MAPS][ROWS][COLUMNS] in float or, with OUT_NARROW, in the cores' own type.
// Grid: x blocks of BLOCK_BANDS bands of BAND_ROWS rows of windows; images x BANDS in all.
// Block: WARPS warps.  A warp takes tasks, for a group of four maps.  `folded.h` says what a band,
// a strip and a task are, and has the copies and the repair.

#define FAMILY pool_folded
#include "common/mma.h"
#include "common/pipelines/pdl.h"
#include "conv2d/gpu/pool_folded/pooled.h"
#if SCALED
#include "conv2d/gpu/pool_folded/tf32_in_float16.h"
#else
#include "common/rounded.h"
#endif

#define RING (PATCH_SLABS + AHEAD)
#define TILES (FLAT && X_NARROW ? 2 : 1)

#define WEIGHTS(b) const pair b[SLABS][4]
#define TAP_AT(m, c, p, q)                                                                      \
    (((((m) / 4 * SLABS + (c) * PATCH_SLABS + (p) / 2) * 4 + (p) % 2) * 32 + (m) % 4 * 8 +      \
      (q) / 2) * 2 + (q) % 2)

#if !SCALED
__device__ __forceinline__ float tap(const element* weights, int map, int c, int p, int q)
{
    return widened(weights[TAP_AT(map, c, p, q)]);
}
#define SCALE_ARGUMENT
#define SCALE
#define GIVEN_SCALE
#define SCALED_BACK(four)
#endif

// Converts a band of floats to the cores' type, in the same order.
__device__ __forceinline__ void convert(const float* raw, element* tile)
{
    const int most = BAND_SIZE / 4;
    UNROLL for (int e = 0; e < most; e += THREADS) {
        if (e + THREADS > most && threadIdx.x + e >= most) break;
        float4 four = ((const float4*)raw)[threadIdx.x + e];
        ((uint2*)tile)[threadIdx.x + e] = make_uint2(pack(four.x, four.y), pack(four.z, four.w));
    }
}

// The two rows of a patch that a slab of 16 elements holds, for a lane's two windows.
__device__ __forceinline__ void load_slab(const element* patch, pair a[4])
{
    const element* below = patch + 2 * HALF_STEPS * PITCH;
    a[0] = *(const pair*)patch, a[1] = *(const pair*)below;
    a[2] = *(const pair*)(patch + PITCH), a[3] = *(const pair*)(below + PITCH);
}

// The product of a row of windows' patches with all folded masks.  Begun, it may still run;
// what it reads must stay until it is complete.
__device__ __forceinline__ void begin(const pair a[CHANNELS][RING][4], int turn, WEIGHTS(b),
                                      float sum[CHAINS][SUMS])
{
    UNROLL for (int chain = 0; chain < CHAINS; chain++)
        UNROLL for (int e = 0; e < SUMS; e++) sum[chain][e] = 0.0f;
    UNROLL for (int e = 0; e < SLABS; e++)
        UNROLL for (int t = 0; t < 2; t++)
            multiply_add(sum[e % CHAINS] + 4 * t,
                         a[e / PATCH_SLABS][(turn + e % PATCH_SLABS) % RING], b[e] + 2 * t);
}

__device__ __forceinline__ void complete(float sum[CHAINS][SUMS])
{
    UNROLL for (int chain = 1; chain < CHAINS; chain++)
        UNROLL for (int e = 0; e < SUMS; e++) sum[0][e] += sum[chain][e];
}

// Loads the slabs that are new at a task's step.
__device__ __forceinline__ void load_step(const element* patch, int step, int turn,
                                          pair a[CHANNELS][RING][4])
{
    UNROLL for (int c = 0; c < CHANNELS; c++)
        load_slab(patch + c * TILE_SIZE + 2 * step * PITCH, a[c][turn % RING]);
}

// A warp walks down a task's rows of windows, and the patches' slabs pass through its
// registers.  With AHEAD, the next row's slabs are on their way while this row's are multiplied.
__device__ __forceinline__ void do_task(const element* tile, WEIGHTS(b), const float shift[GROUPS],
                                        const given* image, const element* weights,
                                        result* results WHERE_ARGUMENT SCALE_ARGUMENT, int map,
                                        int window, int top, int start)
{
    const element* patch = tile + 2 * start * PITCH + 2 * window + 2 * (threadIdx.x % 4);
    const int at = map * MAP_PITCH + window / WINDOWS_RIGHT;
    pair a[CHANNELS][RING][4];
    UNROLL for (int s = 0; s < RING - 1; s++) load_step(patch, s, s, a);
    struct pooled most[GROUPS][2];
    bool doubtful = false;
    ROLLED for (int first = 0; first < STEPS; first += RING)
        UNROLL for (int u = 0; u < RING; u++) {
            int step = first + u;
            if (STEPS % RING && step >= STEPS) break;
            float sum[CHAINS][SUMS];
            if (!AHEAD) load_step(patch, step + RING - 1, u + RING - 1, a);
            begin(a, u, b, sum);
            if (AHEAD && step + 1 < STEPS) load_step(patch, step + RING - 1, u + RING - 1, a);
            complete(sum);
            UNROLL for (int e = 0; e < 2 * GROUPS; e++) {
                int m = e / 2, half = e % 2;
                struct pooled four = of_four(sum[0] + 8 * m, half, shift[m]);
                SCALED_BACK(four);
                const int to = at + 4 * m * MAP_PITCH;
                doubtful |= pool_step(four, &most[m][half], shift[m], step, start, half,
                                      results + to WHERE(to), map + 4 * m, window, top);
            }
        }
    repair_task(doubtful, image, weights, shift, results WHERE(0), map, window, top, start);
}

#if STAGED
// A stage: results[MAPS][MAP_PITCH], and behind them places.
#define STAGED_RESULTS (MAPS * MAP_PITCH * (int)sizeof(result))

__device__ __forceinline__ void store_stage(const char* stage, result* out WHERE_ARGUMENT, int band)
{
    store_band(stage, out, sizeof(result), band);
#if WINNERS
    store_band(stage + STAGED_RESULTS, where, sizeof(winner_place), band);
#endif
}
#endif

__global__ RESIDENT_BOUNDS(THREADS, LEAST_BLOCKS) void pool_folded(
    const given* x, const element* weights, const float* bias, result* __restrict__ out,
    int images WHERE_ARGUMENT)
{
    extern __shared__ __align__(128) char shared[];
    GRIDDEPCONTROL_WAIT();
    given* raw = (given*)shared;
    element* tiles = (element*)(raw + (FLAT && !X_NARROW ? BAND_SIZE : 0));
#if STAGED
    char* staged = (char*)(tiles + TILES * BAND_SIZE);
#endif
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int first_band = blockIdx.x * BLOCK_BANDS, bands = images * BANDS - first_band;
    if (bands > BLOCK_BANDS) bands = BLOCK_BANDS;
#if FLAT
    // Memory that no copy reaches meets zeros of the mask, and must be finite.
    for (int e = threadIdx.x; e < TILES * BAND_SIZE; e += THREADS) raw[e] = 0;
    __syncthreads();
    start_band(x, first_band, raw);
#endif
    int worker = warp / MAP_GROUPS, group = warp % MAP_GROUPS;
    int map = group * 4 + lane % 4;
    float shift[GROUPS];
    UNROLL for (int m = 0; m < GROUPS; m++)
        shift[m] = map + 4 * m < MAPS ? bias[map + 4 * m] : 0.0f;
    pair b[SLABS][4];
    UNROLL for (int s = 0; s < SLABS; s++)
        UNROLL for (int e = 0; e < 4; e++)
            b[s][e] = ((const pair*)weights)[((group * SLABS + s) * 4 + e) * 32 + lane];
    GIVEN_SCALE;
    for (int stage = 0; stage < bands; stage++) {
        int band = first_band + stage;
        const element* tile = tiles + stage % TILES * BAND_SIZE;
        COPIES_DONE();
        __syncthreads();
#if STAGED
        if (stage > 0)
            store_stage(staged + (stage - 1) % TILES * STAGE_BYTES, out WHERE(0), band - 1);
#endif
#if !FLAT
        fill(x, band, tiles);
        __syncthreads();
#elif !X_NARROW
        convert(raw, tiles);
        __syncthreads();
#endif
#if FLAT
        if (stage + 1 < bands)
            start_band(x, band + 1, raw + (stage + 1) % TILES * BAND_SIZE);
#endif
        const given* image = x + (size_t)(band / BANDS) * IMAGE_SIZE;
        int top = band % BANDS * BAND_ROWS;
#if STAGED
        char* own = staged + stage % TILES * STAGE_BYTES;
        result* results = (result*)own;
#define WHERE_OF_BAND WHERE_AT((winner_place*)(own + STAGED_RESULTS))
#else
        const size_t to = (size_t)(band / BANDS) * RESULT_SIZE + top * COLUMNS;
        result* results = out + to;
#define WHERE_OF_BAND WHERE(to)
#endif
        for (int task = worker; task < TASKS; task += WORKERS)
            do_task(tile, b, shift, image, weights, results WHERE_OF_BAND SCALE, map,
                    task % STRIPS * 8 + lane / 4, top, task / STRIPS % SEGMENTS * STEPS);
    }
#if STAGED
    __syncthreads();
    store_stage(staged + (bands - 1) % TILES * STAGE_BYTES, out WHERE(0), first_band + bands - 1);
#endif
}
