// Rung 5, bulk: tiles come by the bulk copy engine, and no register waits for memory.  CUDA only,
// from sm_90 on.
//
// In `vectors`, what is under way is held back by registers.  Here one thread asks for whole tiles,
// STAGES of them ahead, and all threads compare what has come from shared memory; a thread's chunk
// is its vectors of a tile.  What it removes: loads by threads, but those of one chunk at the end.
//
// x[rows][columns], values and places[rows][segments].
// Grid: x over segments, y over rows.
// Block: x over THREADS (a power of two) threads.

#include "common/tile_ring.h"
#include "chunks.h"

__global__ void LAUNCH_BOUNDS(THREADS)
segments(const given* __restrict__ x, carried* __restrict__ values, int64* __restrict__ places,
         int64 columns)
{
    SHARED_ARRAY(vector, held);
    __shared__ __align__(8) word barriers[STAGES];
    __shared__ carried joined[THREADS];
    __shared__ int64 joined_places[THREADS];
    int thread = threadIdx.x;
    const given* elements = x + blockIdx.y * columns;
    struct ring ring = ring_of(held, barriers, elements, columns / VECTOR);

    carried best = IDENTITY;
    int64 chunk = ring.tile;
    while (ring.tile < ring.tiles) {
        const vector* tile = await_tile(&ring);
        int64 left = left_of(&ring);
        carried extreme = IDENTITY;
        UNROLL
        for (int i = 0; i < LOADS; i++)
            if (i * THREADS + thread < left)
                extreme = combined(extreme, of_vector(tile[i * THREADS + thread]));
        if (better(extreme, best)) {
            best = extreme;
            chunk = ring.tile;
        }
        give_tile(&ring);
    }
    struct found own = {
        best, place_in(ring.row, chunk * TILE + thread, THREADS, ring.count, best)};
    own = with_rest(own, elements, columns, thread, THREADS);
    own = tree(joined, joined_places, thread, THREADS, own);
    if (thread == 0) keep(values, places, blockIdx.y * gridDim.x + blockIdx.x, own);
}
