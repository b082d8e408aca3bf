// waves: a single pass of resident blocks, whose warps have a job each.
//
// In `look_back`, all threads of a block wait for the tiles before theirs, and nothing of the block is
// under way meanwhile.  Here blocks go from wave to wave of tiles (`common/waves.h`): some warps sum a
// tile as soon as bulk copies have brought it, others scan and store it waves later, when what all
// tiles before it come to is there.
// What it removes: waiting with nothing under way.
//
// x[count], y[count], states[tiles].
// Grid: x over ALL blocks, launched together.
// Block: x over WARPS warps that scan, WARPS that sum, and three.

#define WARPS (THREADS / 32)
#define FAMILY waves
#include "stages.h"
#include "common/wave_tiles.h"

// WARPS warps: what each one's piece comes to.
__device__ __forceinline__ void sum_tiles(carried (*totals)[WARPS], const char* stages, int warp,
                                          unsigned ring, const given* x, int64 tiles, int64 count)
{
    struct pipeline_state now = {0, 0};
    for (int64 tile = blockIdx.x; tile < tiles; tile += ALL) {
        barrier_wait(BARRIER(ring, FULL, now.stage), now.phase);
        struct rows rows;
        take_rows(&rows, stages + now.stage * STAGE_BYTES, piece_of(warp), x, low_of(tile, tiles),
                  count);
        carried all = IDENTITY;
        UNROLL for (int row = 0; row < ROWS; row++)
            UNROLL for (int e = 0; e < WIDTH; e++) all = combined(all, rows.own[row][e]);
        all = of_lanes(all);
        if (threadIdx.x % 32 == 0) totals[now.stage][warp] = all;
        barrier_arrive(BARRIER(ring, SUMMED, now.stage));
        advance(&now, STAGES);
    }
}

// WARPS warps: scan and store pieces.
__device__ __forceinline__ void store_tiles(const char* stages, const carried (*before)[WARPS],
                                            int warp, unsigned ring, const given* x, result* y,
                                            int64 tiles, int64 count)
{
    struct pipeline_state now = {0, 0};
    for (int64 tile = blockIdx.x; tile < tiles; tile += ALL) {
        int64 low = low_of(tile, tiles);
        barrier_wait(BARRIER(ring, FULL, now.stage), now.phase);
        struct rows rows;
        take_rows(&rows, stages + now.stage * STAGE_BYTES, piece_of(warp), x, low, count);
        scan_rows(&rows);
        barrier_wait(BARRIER(ring, KNOWN, now.stage), now.phase);
        carried first = before[now.stage][warp];
        barrier_arrive(BARRIER(ring, EMPTY, now.stage));
        store_rows(&rows, first, y, low + piece_of(warp), count);
        advance(&now, STAGES);
    }
}

__global__ __launch_bounds__(2 * THREADS + 96, BLOCKS) void waves(
    const given* __restrict__ x, result* __restrict__ y, word* states, int64 tiles, int64 count)
{
    SHARED_ARRAY(char, stages);
    __shared__ word events[EVENTS * STAGES];
    __shared__ carried totals[STAGES][WARPS], before[STAGES][WARPS];
    unsigned ring = (unsigned)__cvta_generic_to_shared(events);
    int warp = threadIdx.x / 32;
    if (threadIdx.x == 0) init_pipeline(ring, 1);
    __syncthreads();
    if (warp < WARPS) store_tiles(stages, before, warp, ring, x, y, tiles, count);
    else if (warp < 2 * WARPS) sum_tiles(totals, stages, warp - WARPS, ring, x, tiles, count);
    else if (warp == 2 * WARPS) publish_tiles(totals, 0, ring, states, tiles);
    else if (warp == 2 * WARPS + 1) look_up_tiles(before, totals, 0, ring, states, tiles);
    else if (threadIdx.x % 32 == 0)
        load_tiles((unsigned)__cvta_generic_to_shared(stages), ring, x, tiles, count);
}
