// waves: a single pass of resident blocks, whose warps have a job each.
//
// As scan's rung of this name.  Two more warps set a bit for each element of a tile at which a segment
// begins, while the copy engine brings the tile; what crosses such a bit is cut off, as in `look_back`.
// What it removes: waiting with nothing under way.
//
// x[count], offsets[segments + 1], y[count], firsts[tiles + 1], states[tiles].
// Grid: x over ALL blocks, launched together.
// Block: x over WARPS warps that scan, WARPS that sum, three, and MARKERS.

#define WARPS (THREADS / 32)
#define MARKERS 2
#define MARKING (32 * MARKERS)
#define AT_ONCE 4
#define FAMILY waves
#include "scan/gpu/stages.h"
#include "common/wave_tiles.h"
typedef OFFSET offset;
#include "cuts.h"

// The bits of a stage, cleared by their reader.
typedef unsigned stage_heads[TILE / 32];

// The first elements in a tile of the segments from `s` on and below `last`; -1 where they are
// elsewhere.
__device__ __forceinline__ void load_places(int* places, const offset* offsets, int64 s,
                                            int64 last, int64 tile)
{
    UNROLL for (int k = 0; k < AT_ONCE; k++) {
        int64 at = s + k * MARKING < last ? offsets[s + k * MARKING] - tile * TILE : -1;
        // Offsets that do not rise must not reach beyond the bits.
        places[k] = at >= 0 && at < TILE ? (int)at : -1;
    }
}

// MARKERS warps: set the bits of tiles.
__device__ __forceinline__ void mark_tiles(stage_heads* heads, int thread, unsigned ring,
                                           const offset* offsets, const int64* firsts, int64 tiles)
{
    struct pipeline_state now = {0, 0};
    int64 next_first = 0, next_last = 0;
    if (blockIdx.x < tiles) next_first = firsts[blockIdx.x], next_last = firsts[blockIdx.x + 1];
    for (int64 tile = blockIdx.x; tile < tiles; tile += ALL) {
        int64 first = next_first, last = next_last;
        int places[AT_ONCE];
        // Of the next tile, they are on their way while this one is marked.
        if (tile + ALL < tiles) next_first = firsts[tile + ALL], next_last = firsts[tile + ALL + 1];
        load_places(places, offsets, first + thread, last, tile);
        barrier_wait(BARRIER(ring, EMPTY, now.stage), now.phase ^ 1);
        while (first < last) {
            UNROLL for (int k = 0; k < AT_ONCE; k++)
                if (places[k] >= 0) atomicOr(heads[now.stage] + places[k] / 32, 1u << places[k] % 32);
            first += AT_ONCE * MARKING;
            load_places(places, offsets, first + thread, last, tile);
        }
        barrier_arrive(BARRIER(ring, FULL, now.stage));
        advance(&now, STAGES);
    }
}

// The combination of a piece after its last beginning; tells if there is one.
__device__ __forceinline__ carried of_piece(const struct rows* rows, const struct cuts* cuts,
                                            bool* cut)
{
    int lane = threadIdx.x % 32;
    carried all = IDENTITY;
    *cut = false;
    UNROLL for (int row = 0; row < ROWS; row++) {
        carried own = IDENTITY;
        UNROLL for (int e = 0; e < WIDTH; e++)
            own = cuts->own[row] >> e & 1 ? rows->own[row][e] : combined(own, rows->own[row][e]);
        if (cuts->lanes[row]) *cut = true, all = IDENTITY;
        if (lane >= 31 - __clz(cuts->lanes[row] | 1)) all = combined(all, own);
    }
    return of_lanes(all);
}

// WARPS warps: what each one's piece comes to.
__device__ __forceinline__ void sum_tiles(carried (*totals)[WARPS], unsigned (*cut_warps)[WARPS],
                                          const char* stages, const stage_heads* heads, int warp,
                                          unsigned ring, const given* x, int64 tiles, int64 count)
{
    struct pipeline_state now = {0, 0};
    for (int64 tile = blockIdx.x; tile < tiles; tile += ALL) {
        barrier_wait(BARRIER(ring, FULL, now.stage), now.phase);
        struct rows rows;
        struct cuts cuts;
        bool cut;
        take_rows(&rows, stages + now.stage * STAGE_BYTES, warp * PIECE, x, tile * TILE, count);
        load_cuts(&cuts, heads[now.stage], warp * PIECE);
        carried all = of_piece(&rows, &cuts, &cut);
        if (threadIdx.x % 32 == 0) totals[now.stage][warp] = all, cut_warps[now.stage][warp] = cut;
        barrier_arrive(BARRIER(ring, SUMMED, now.stage));
        advance(&now, STAGES);
    }
}

// WARPS warps: scan and store pieces.
__device__ __forceinline__ void store_tiles(const char* stages, stage_heads* heads,
                                            const carried (*before)[WARPS], int warp,
                                            unsigned ring, const given* x, result* y, int64 tiles,
                                            int64 count)
{
    struct pipeline_state now = {0, 0};
    int lane = threadIdx.x % 32;
    for (int64 tile = blockIdx.x; tile < tiles; tile += ALL) {
        barrier_wait(BARRIER(ring, FULL, now.stage), now.phase);
        struct rows rows;
        struct cuts cuts;
        take_rows(&rows, stages + now.stage * STAGE_BYTES, warp * PIECE, x, tile * TILE, count);
        load_cuts(&cuts, heads[now.stage], warp * PIECE);
        scan_cut_rows(&rows, &cuts);
        barrier_wait(BARRIER(ring, KNOWN, now.stage), now.phase);
        carried first = before[now.stage][warp];
        // They are loaded again: while a piece waits, registers are short.
        load_cuts(&cuts, heads[now.stage], warp * PIECE);
        __syncwarp();
        if (lane < PIECE / 32) heads[now.stage][warp * (PIECE / 32) + lane] = 0;
        barrier_arrive(BARRIER(ring, EMPTY, now.stage));
        store_cut_rows(&rows, &cuts, first, y, tile * TILE + warp * PIECE, count);
        advance(&now, STAGES);
    }
}

__global__ __launch_bounds__(2 * THREADS + 96 + MARKING, BLOCKS) void waves(
    const given* __restrict__ x, const offset* __restrict__ offsets, result* __restrict__ y,
    const int64* __restrict__ firsts, word* states, int64 tiles, int64 count)
{
    SHARED_ARRAY(char, stages);
    __shared__ stage_heads heads[STAGES];
    __shared__ word events[EVENTS * STAGES];
    __shared__ carried totals[STAGES][WARPS], before[STAGES][WARPS];
    __shared__ unsigned cut_warps[STAGES][WARPS];
    unsigned ring = (unsigned)__cvta_generic_to_shared(events);
    int warp = threadIdx.x / 32;
    for (int e = threadIdx.x; e < STAGES * (TILE / 32); e += blockDim.x)
        heads[e / (TILE / 32)][e % (TILE / 32)] = 0;
    if (threadIdx.x == 0) init_pipeline(ring, 1 + MARKING);
    __syncthreads();
    if (warp < WARPS) store_tiles(stages, heads, before, warp, ring, x, y, tiles, count);
    else if (warp < 2 * WARPS)
        sum_tiles(totals, cut_warps, stages, heads, warp - WARPS, ring, x, tiles, count);
    else if (warp == 2 * WARPS) publish_tiles(totals, cut_warps, ring, states, tiles);
    else if (warp == 2 * WARPS + 1) look_up_tiles(before, totals, cut_warps, ring, states, tiles);
    else if (warp > 2 * WARPS + 2)
        mark_tiles(heads, threadIdx.x - 2 * THREADS - 96, ring, offsets, firsts, tiles);
    else if (threadIdx.x % 32 == 0)
        load_tiles((unsigned)__cvta_generic_to_shared(stages), ring, x, tiles, count);
}
