// Rung 12, waves: a single pass of resident blocks, which know of each other before they ask.
//
// In `look_back`, a tile waits for those before it, while nothing of its block is under way.  Here all
// blocks are resident and go from wave to wave: block b has tile w * blocks + b of wave w.  Bulk copies
// fill STAGES stages of shared memory ahead.  A tile is summed, and its sum published, BEHIND waves
// before it is stored; so what the tiles of its wave come to is there for long when it is asked for,
// by a thread a block.  Each block adds up all waves by itself: no prefix is handed from tile to tile.
// What it removes: waiting with nothing under way.
//
// x[count], y[count], states[tiles]: the sum above a 1, each in 32 bits.
// Grid: x over blocks, all resident, at most THREADS of them.
// Block: x over WARPS warps.

#include "tile.h"
#include "common/barriers.h"

#define WARPS (THREADS / 32)
#define TILE (THREADS * ROWS * WIDTH)
#define STAGE_BYTES (TILE * 4)
#define KEPT (BEHIND + 2)
#define PAUSE_NS 32

union bits { carried value; unsigned word; };

__device__ __forceinline__ void tell(word* state, carried value)
{
    union bits bits;
    bits.value = value;
    word told = (word)bits.word << 32 | 1;
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(state), "l"(told) : "memory");
}

__device__ __forceinline__ word seen_of(const word* state)
{
    word seen;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(state) : "memory");
    return seen;
}

__device__ __forceinline__ carried told_by(word seen)
{
    union bits bits;
    bits.word = seen >> 32;
    return bits.value;
}

__global__ void clear(word* states, int64 tiles)
{
    int64 tile = blockIdx.x * (int64)blockDim.x + threadIdx.x;
    if (tile < tiles) states[tile] = 0;
}

// What the values of a warp come to, in all of its lanes.
__device__ __forceinline__ carried of_lanes(carried value)
{
    UNROLL for (int reach = 1; reach < 32; reach *= 2)
        value = combined(value, __shfl_xor_sync(EVERY_LANE, value, reach));
    return value;
}

// Starts to fill a stage with the whole vectors of a tile.
__device__ __forceinline__ void bring(unsigned stage, const given* x, int64 low, int64 count,
                                      unsigned barrier)
{
    unsigned elements = (unsigned)(count - low < TILE ? count - low : TILE) / WIDTH * WIDTH;
    expect_bytes(elements * 4, barrier);
    if (elements) copy_bytes(stage, x + low, elements * 4, barrier);
}

// This lane's vectors of the tile that begins at `low`; what lies behind its last whole vector comes
// from memory.
__device__ __forceinline__ void take_rows(struct rows* rows, const char* stage, const given* x,
                                          int64 low, int64 count)
{
    const given* tile = (const given*)stage;
    UNROLL for (int row = 0; row < ROWS; row++) {
        int64 at = vector_place(threadIdx.x / 32 * (ROWS * SPAN), row);
        if (low + at + WIDTH <= count) {
            struct given_vector vector = *(const struct given_vector*)(tile + at);
            take_up(rows->own[row], &vector);
        } else {
            UNROLL for (int e = 0; e < WIDTH; e++)
                rows->own[row][e] = low + at + e < count ? taken(x[low + at + e]) : IDENTITY;
        }
    }
}

__device__ __forceinline__ carried of_rows(const struct rows* rows)
{
    carried all = IDENTITY;
    UNROLL for (int row = 0; row < ROWS; row++)
        UNROLL for (int e = 0; e < WIDTH; e++) all = combined(all, rows->own[row][e]);
    return of_lanes(all);
}

__global__ RESIDENT_BOUNDS(THREADS, BLOCKS) void scan_waves(
    const given* __restrict__ x, result* __restrict__ y, word* states, int64 tiles, int64 count)
{
    SHARED_ARRAY(char, stages);
    __shared__ word full[STAGES];
    __shared__ carried totals[KEPT][WARPS], whole[2][32], below[2][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, number = blockIdx.x, all = gridDim.x;
    int waves = (int)((tiles + all - 1) / all);
    unsigned place = (unsigned)__cvta_generic_to_shared(stages);
    unsigned barriers = (unsigned)__cvta_generic_to_shared(full);
    int64 stride = (int64)all * TILE, first = (int64)number * TILE;
    if (warp < 2) whole[warp][lane] = below[warp][lane] = IDENTITY;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) expect(1, FULL(barriers, s));
        barriers_ready();
        for (int s = 0; s < STAGES; s++)
            if (first + s * stride < count)
                bring(place + s * STAGE_BYTES, x, first + s * stride, count, FULL(barriers, s));
    }
    __syncthreads();
    struct carry carry = nothing();
    struct turn now = {0, 0}, late = {0, 0};
    for (int i = 0; i < waves + BEHIND; i++) {
        int w = i - BEHIND;
        int64 low = first + i * stride, ready = first + w * stride;
        const word* state = states + (int64)w * all + threadIdx.x;
        bool asks = w >= 0 && threadIdx.x < all && (int64)w * all + threadIdx.x < tiles;
        word seen = asks ? seen_of(state) : 1;
        struct rows rows;
        if (low < count) {
            wait(FULL(barriers, now.at), now.round);
            take_rows(&rows, stages + now.at * STAGE_BYTES, x, low, count);
            carried sum = of_rows(&rows);
            if (lane == 0) totals[i % KEPT][warp] = sum;
        }
        while (!(unsigned)seen) {
            __nanosleep(PAUSE_NS);
            seen = seen_of(state);
        }
        carried told = asks ? told_by(seen) : IDENTITY;
        carried earlier = of_lanes(threadIdx.x < number ? told : IDENTITY);
        told = of_lanes(told);
        if (lane == 0) whole[i % 2][warp] = told, below[i % 2][warp] = earlier;
        __syncthreads();
        if (warp == 0 && low < count) {
            carried sum = of_lanes(lane < WARPS ? totals[i % KEPT][lane] : IDENTITY);
            if (lane == 0) tell(states + (int64)i * all + number, sum);
        }
        // What the last round has stored is read by nobody any more: its stage is free.
        int64 next = ready + (STAGES - 1) * stride;
        if (threadIdx.x == THREADS - 32 && w > 0 && next < count) {
            int free = late.at ? late.at - 1 : STAGES - 1;
            bring(place + free * STAGE_BYTES, x, next, count, FULL(barriers, free));
        }
        if (w >= 0 && ready < count) {
            carried own = of_lanes(lane < warp ? totals[w % KEPT][lane] : IDENTITY);
            struct carry before = joined(joined(carry, of_lanes(below[i % 2][lane])), own);
            carry = joined(carry, of_lanes(whole[i % 2][lane]));
            take_rows(&rows, stages + late.at * STAGE_BYTES, x, ready, count);
            scan_rows(&rows);
            store_rows(&rows, value_of(before), y, ready + warp * (ROWS * SPAN), count);
        }
        advance(&now, STAGES);
        if (w >= 0) advance(&late, STAGES);
    }
}
