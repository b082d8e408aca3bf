// queued: a warp queues the gradients that relu left, and takes one of each queue at a time.
//
// In `lane_rows` all lanes of a warp take the same gradient, each a row of a channel's mask: of few
// channels there are few rows, and a gradient that relu cut to zero takes as long as any other.
// Here a warp looks at 32 windows at once and queues the gradients that are left. There are as many
// queues as the warp has lanes for: SLOTS shares of its lanes take a gradient each, and a lane is a
// row of a channel's mask again. A window's column modulo SLOTS is its gradient's queue. Where
// there are several, each column of the windows has a layer of its own in shared memory, with every
// UNITth pixel: so pixels of adjacent windows are adjacent, wherever their argmax is, and rows are
// whole slots apart: gradients of different queues share no bank. What it removes: products of
// gradients that relu cut, and lanes without a row.
//
// Queues are rings. A warp takes as many from each as all of them have when one is nearly full, and
// everything at the end of a map: then zeros that meet zeros fill up the shorter ones. Windows that
// relu cut are left out, unless a pixel of the image is an infinity or NaN.
//
// Sums are made by slot, block, then by `finish` over the blocks, in a fixed order, also where some
// are left out. CUDA only, from compute capability 8.0 on.
//
// x[images][CHANNELS][HEIGHT][WIDTH], dy and where: see common/places.h,
// partial[gridDim.x][MAPS][COLUMNS_ALL]: a map's weights, then its bias.
// Grid: x over images, which blocks share out; y over groups of GROUP_CHANNELS channels; z over SPLITS
// of the maps.  Block: TEAMS teams of PARTS warps, each of which has a part of a map's windows.

#define FAMILY queued
#include "common/pipelines/pdl.h"
#include "conv2d_weights_gradient/gpu/finish.h"

#define WARPS (TEAMS * PARTS)
#define THREADS (32 * WARPS)
#define SPLIT_MAPS ((MAPS + SPLITS - 1) / SPLITS)
#define WARP_MAPS ((SPLIT_MAPS + TEAMS - 1) / TEAMS)
// Lanes of a slot, and the number of them with a row.
#define SHARE (32 / SLOTS)
#define LANE_ROWS (GROUP_CHANNELS * MASK_HEIGHT)
// Rows of windows in whole slots, in parts of which each has whole warps of windows but the last.
#define ROW_WINDOWS ((COLUMNS + SLOTS - 1) / SLOTS * SLOTS)
#define WINDOWS (ROWS * ROW_WINDOWS)
#define PART_SIZE (((WINDOWS + PARTS - 1) / PARTS + 31) / 32 * 32)
#define WHOLE (ROW_WINDOWS == COLUMNS && PART_SIZE * PARTS == WINDOWS)
// The rings' beginnings lie in banks of their own.
#define RING_PITCH (RING + 8)
// Gradients taken from a ring at a time.
#define TAKEN 4
// Of a map and a group of channels: weights, and the bias.
#define SUMS (LANE_ROWS * MASK_WIDTH + 1)
// Units of pixels of an image, after the units of zeros before it; and the number that a thread
// loads.
#define FIRST_UNIT (PAD_X / UNIT)
#define UNITS ((PAD_X + WIDTH + UNIT - 1) / UNIT - FIRST_UNIT)
#define ACROSS (UNITS < THREADS ? UNITS : THREADS)
#define DOWN (THREADS / ACROSS)
#define AHEAD 8
// True if a lane has a window of the 32 from e on, its own one from there.
#define THERE(e, own, end) \
    ((e) < (end) && (WHOLE || ((e) + (own) < (end) && ((e) + (own)) % ROW_WINDOWS < COLUMNS)))
// The offset of a tap's pixel from the first one that its mask meets.
#define TAP(q) ((q) % UNIT * LAYER + (q) / UNIT)

// A unit of an image's pixels of row i.
__device__ __forceinline__ void load_unit(const float* plane, int i, int unit, float made[UNIT])
{
#if UNIT == 2 && WIDTH % 2 == 0 && PAD_X % 2 == 0
    float2 two = *(const float2*)(plane + i * WIDTH + unit * 2 - PAD_X);
    made[0] = two.x, made[1] = two.y;
#else
    UNROLL for (int c = 0; c < UNIT; c++) {
        int j = unit * UNIT + c - PAD_X;
        made[c] = j >= 0 && j < WIDTH ? plane[i * WIDTH + j] : 0.0f;
    }
#endif
}

// Loads a channel of an image into the tile; the elements around it stay zeros. Adds zero to
// `beyond` if all pixels are finite, else NaN.
__device__ __forceinline__ void bring_channel(const float* plane, float* tile, float* beyond)
{
    int down = threadIdx.x / ACROSS < DOWN ? threadIdx.x / ACROSS : HEIGHT;
    for (int unit = FIRST_UNIT + threadIdx.x % ACROSS; unit < FIRST_UNIT + UNITS; unit += ACROSS)
        for (int first = down; first < HEIGHT; first += AHEAD * DOWN) {
            float held[AHEAD][UNIT];
            UNROLL for (int v = 0; v < AHEAD; v++)
                if (first + v * DOWN < HEIGHT) load_unit(plane, first + v * DOWN, unit, held[v]);
            UNROLL for (int v = 0; v < AHEAD; v++) {
                float* to = tile + (first + v * DOWN + PAD_Y) * PITCH + unit;
                if (first + v * DOWN >= HEIGHT) continue;
                UNROLL for (int c = 0; c < LAYERS; c++) {
                    if (unit >= c / UNIT) to[c * LAYER - c / UNIT] = held[v][c % UNIT];
                    if (c < UNIT) *beyond += 0.0f * held[v][c];
                }
            }
        }
}

// A lane's data of a window.
typedef struct {
    float gradient;
    winner_place told;
} Window;

// Fetches a lane's windows of LOOKS times 32 from e on, of a map's part that ends at `end`.
__device__ __forceinline__ void fetch(const float* dy, WHERE_ARGUMENT int e, int own, int end,
                                      Window made[LOOKS])
{
    UNROLL for (int v = 0; v < LOOKS; v++) {
        Window one = {0.0f, 0};
        int here = e + 32 * v, number = here + own;
        if (ROW_WINDOWS != COLUMNS) number = number / ROW_WINDOWS * COLUMNS + number % ROW_WINDOWS;
        if (THERE(here, own, end)) one.gradient = dy[number], one.told = where[number];
        made[v] = one;
    }
}

// The rings of a warp, one for each slot: gradients, and where in a plane the first pixels lie that they
// met; how many wait in that of the lane's slot, and where all begin; which lanes are of its slot, and
// which of these are before it.
typedef struct {
    float* gradients;
    unsigned short* places;
    unsigned waiting, begin, like, before;
} Rings;

// A lane's value, by a shuffle: else compilers recompute it from the thread's number in each round.
#define KEPT(value) __shfl_sync(~0u, value, threadIdx.x % 32)

// Queues the winners of the lanes' windows, the lane's number e, and adds them to the bias; `keep` says
// whether those that relu cut are among them, whose gradients are zero.
__device__ __forceinline__ void queue(Rings* rings, Window one, int e, int there, int keep, float* bias)
{
#if WHERE_NARROW
    there &= keep | (one.told != NO_WINNER);
#endif
    int i = e / ROW_WINDOWS, j = e % ROW_WINDOWS;
    spot met = spot_of(one.told, i * COLUMNS + j);
    int place = met.row * PITCH + met.column;
    if (UNIT > 1) place = met.row * PITCH + (met.column - j * UNIT) * LAYER + j;
    unsigned some = __ballot_sync(~0u, there);
    unsigned at = (rings->begin + rings->waiting + __popc(some & rings->before)) % RING;
    float gradient = OF_WINNER(one.gradient, one.told);
    if (there) rings->gradients[at] = gradient, rings->places[at] = place;
    rings->waiting += __popc(some & rings->like);
    *bias += gradient;
}

// Adds what winners of the rings bring to the sums of a lane, whose row of an output at the plane's
// origin is given: of all that wait, or of as many as do in each of the rings, if these are some.
__device__ __forceinline__ void take(Rings* rings, int all, const float* row, int lane,
                                     float sum[MASK_WIDTH])
{
    unsigned waiting = rings->waiting;
    unsigned count = all ? 0 : __reduce_min_sync(~0u, waiting) / TAKEN * TAKEN;
    if (count == 0) count = (__reduce_max_sync(~0u, waiting) + TAKEN - 1) / TAKEN * TAKEN;
    ROLLED for (unsigned k = waiting + lane % SHARE; k < count; k += SHARE) {
        rings->gradients[(rings->begin + k) % RING] = 0.0f;
        rings->places[(rings->begin + k) % RING] = ZEROS + lane / SHARE;
    }
    __syncwarp();
    ROLLED for (unsigned k = 0; k < count; k += TAKEN) {
        unsigned at = (rings->begin + k) % RING;
        float4 four = *(const float4*)(rings->gradients + at);
        uint2 two = *(const uint2*)(rings->places + at);
        float gradient[TAKEN] = {four.x, four.y, four.z, four.w};
        unsigned place[TAKEN] = {two.x & 0xffff, two.x >> 16, two.y & 0xffff, two.y >> 16};
        UNROLL for (int v = 0; v < TAKEN; v++)
            UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                sum[q] += gradient[v] * row[place[v] + TAP(q)];
    }
    __syncwarp();
    rings->begin += count;
    rings->waiting = waiting < count ? 0 : waiting - count;
}

// The rings of this warp, none in them; `from` is where the first ring of the block begins.
__device__ __forceinline__ Rings rings_of(int warp, int lane, float* from)
{
    unsigned like = SHARE == 32 ? ~0u : ((1u << SHARE % 32) - 1) << lane / SHARE * SHARE;
    int at = (warp * SLOTS + lane / SHARE) * RING_PITCH;
    unsigned short* places = (unsigned short*)(from + WARPS * SLOTS * RING_PITCH);
    Rings rings = {from + at, places + at, 0, 0, KEPT(like), KEPT(like & ((1u << lane) - 1))};
    return rings;
}

// Queues the winners of a part of a map, from window `from` to `end`, whose first ones are fetched, and
// takes them but for a few.
__device__ __forceinline__ void add_part(Rings* rings, const float* dy, WHERE_ARGUMENT int from, int end,
                                         int own, int keep, const float* row, int lane,
                                         Window next[LOOKS], float sum[MASK_WIDTH], float* bias)
{
    for (int e = from; e < end; e += 32 * LOOKS) {
        Window now[LOOKS];
        UNROLL for (int v = 0; v < LOOKS; v++) now[v] = next[v];
        fetch(dy, where, e + 32 * LOOKS, own, end, next);
        UNROLL for (int v = 0; v < LOOKS; v++)
            queue(rings, now[v], e + 32 * v + own, THERE(e + 32 * v, own, end), keep, bias);
        while (__any_sync(~0u, rings->waiting > RING - LOOKS * SHARE)) take(rings, 0, row, lane, sum);
    }
}

// Joins the sums of slots by warp, then of parts, and stores the block's.
__device__ __forceinline__ void join(float sum[WARP_MAPS][MASK_WIDTH], float bias[WARP_MAPS],
                                     float* joined, float* partial, int begin, int first)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    UNROLL for (int m = 0; m < WARP_MAPS; m++) {
        float* to = joined + (m * WARPS + warp) * SUMS;
        UNROLL for (int q = 0; q < MASK_WIDTH; q++) {
            UNROLL for (int apart = SHARE; apart < 32; apart *= 2)
                sum[m][q] += __shfl_xor_sync(~0u, sum[m][q], apart);
            if (lane < LANE_ROWS) to[lane * MASK_WIDTH + q] = sum[m][q];
        }
        UNROLL for (int apart = 1; apart < 32; apart *= 2)
            bias[m] += __shfl_xor_sync(~0u, bias[m], apart);
        if (lane == 0) to[SUMS - 1] = bias[m];
    }
    __syncthreads();
    int maps = MAPS - begin < SPLIT_MAPS ? MAPS - begin : SPLIT_MAPS;
    for (int at = threadIdx.x; at < maps * SUMS; at += THREADS) {
        int map = at / SUMS, tap = at % SUMS, column = first * TAPS + tap;
        int there = tap < SUMS - 1 ? column < CHANNELS * TAPS : first == 0;
        const float* of_parts = joined + map * PARTS * SUMS + tap;
        float all = 0.0f;
        UNROLL for (int part = 0; part < PARTS; part++) all += of_parts[part * SUMS];
        if (tap == SUMS - 1) column = CHANNELS * TAPS;
        if (there) partial[((int64)blockIdx.x * MAPS + begin + map) * COLUMNS_ALL + column] = all;
    }
}

__global__ void RESIDENT_BOUNDS(THREADS, BLOCKS)
queued(const GLOBAL float* x, const GLOBAL float* dy,
       WHERE_ARGUMENT GLOBAL float* __restrict__ partial, int images)
{
    extern __shared__ __align__(16) float tile[];
    int lane = KEPT(threadIdx.x % 32), warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    int first = blockIdx.y * GROUP_CHANNELS, begin = SPLITS > 1 ? blockIdx.z * SPLIT_MAPS : 0;
    int channels = CHANNELS - first < GROUP_CHANNELS ? CHANNELS - first : GROUP_CHANNELS;
    int maps = MAPS - begin < SPLIT_MAPS ? MAPS - begin : SPLIT_MAPS;
    int team = warp / PARTS, from = warp % PARTS * PART_SIZE;
    int to = from + PART_SIZE < WINDOWS ? from + PART_SIZE : WINDOWS, end = team < maps ? to : 0;
    // Of 32 adjacent windows a slot has every SLOTSth.
    int own = lane % SHARE * SLOTS + lane / SHARE;
    Rings rings = rings_of(warp, lane, tile + TILE);
    // Lanes beyond the rows read what the slot's first one reads.
    int p = lane % SHARE < LANE_ROWS ? lane % SHARE : 0;
    const float* row = tile + p / MASK_HEIGHT * PLANE + p % MASK_HEIGHT * PITCH;
    float sum[WARP_MAPS][MASK_WIDTH], bias[WARP_MAPS];
    UNROLL for (int m = 0; m < WARP_MAPS; m++) {
        bias[m] = 0.0f;
        UNROLL for (int q = 0; q < MASK_WIDTH; q++) sum[m][q] = 0.0f;
    }
    for (int at = threadIdx.x; at < TILE; at += THREADS) tile[at] = 0.0f;
    GRIDDEPCONTROL_WAIT();

    int64 number = ((int64)blockIdx.x * MAPS + begin + team) * GRADIENTS;
    Window next[LOOKS];
    fetch(dy + number, where + number, from, own, end, next);
    for (int n = blockIdx.x; n < images; n += gridDim.x) {
        int64 ahead = n + gridDim.x;
        float beyond = 0.0f;
        __syncthreads();
        for (int c = 0; c < channels; c++)
            bring_channel(x + ((int64)n * CHANNELS + first + c) * HEIGHT * WIDTH, tile + c * PLANE,
                          &beyond);
        int keep = __syncthreads_or(beyond != 0.0f);
        UNROLL for (int m = 0; m < WARP_MAPS; m++) {
            add_part(&rings, dy + number, where + number, from, end, own, keep, row, lane, next, sum[m],
                     &bias[m]);
            // The next map's first winners are on their way while the last ones are taken.
            int map = (m + 1) % WARP_MAPS * TEAMS + team, last = m + 1 == WARP_MAPS;
            number = ((last ? ahead : n) * MAPS + begin + map) * GRADIENTS;
            end = map < maps && (!last || ahead < images) ? to : 0;
            fetch(dy + number, where + number, from, own, end, next);
            take(&rings, 1, row, lane, sum[m]);
        }
    }
    __syncthreads();
    join(sum, bias, tile, partial, begin, first);
}
