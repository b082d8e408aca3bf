// Rung 12, bulk: tiles come by the bulk copy engine, and no register waits for memory.  CUDA only,
// from sm_90 on.
//
// In `vectors`, what is under way is held back by registers, and every load is an instruction of
// every warp.  Here one thread asks for whole tiles of 16 kB and more, STAGES of them ahead, and all
// threads combine what has come from shared memory.  What it removes: loads by threads, and gaps
// in what memory has to do.
//
// x[rows][columns], partials[rows][segments].
// Grid: x over segments, y over rows.
// Block: x over THREADS (whole warps) threads.

#include "vectors.h"
#include "warps.h"
#include "common/barriers.h"

#define TILE (THREADS * LOADS)

// Asks for a tile of vectors, or for what is left of one at the end of a row.
__device__ __forceinline__ void bring(vector* to, const vector* row, int64 tile, int64 count,
                                      unsigned full)
{
    int64 left = count - tile * TILE;
    unsigned bytes = (left < TILE ? (int)left : TILE) * sizeof(vector);
    expect_bytes(bytes, full);
    copy_bytes((unsigned)__cvta_generic_to_shared(to), row + tile * TILE, bytes, full);
}

__global__ void LAUNCH_BOUNDS(THREADS)
segments(const given* __restrict__ x, kept* __restrict__ partials, int64 columns)
{
    SHARED_ARRAY(vector, ring);
    __shared__ __align__(8) word barriers[STAGES];
    __shared__ carried joined[THREADS / 32];
    int thread = threadIdx.x, tiles_apart = gridDim.x;
    unsigned full = (unsigned)__cvta_generic_to_shared(barriers);
    const given* elements = x + blockIdx.y * columns;
    const vector* vectors = (const vector*)elements;
    int64 count = columns / VECTOR, tiles = (count + TILE - 1) / TILE, ahead = blockIdx.x;
    if (thread == 0) {
        for (int i = 0; i < STAGES; i++) expect(1, FULL(full, i));
        barriers_ready();
        for (int i = 0; i < STAGES && ahead < tiles; i++, ahead += tiles_apart)
            bring(ring + i * TILE, vectors, ahead, count, FULL(full, i));
    }
    __syncthreads();

    carried own[LOADS];
    UNROLL
    for (int i = 0; i < LOADS; i++) own[i] = IDENTITY;
    struct turn turn = {0, 0};
    for (int64 tile = blockIdx.x; tile < tiles; tile += tiles_apart) {
        const vector* held = ring + turn.at * TILE;
        int64 left = count - tile * TILE;
        wait(FULL(full, turn.at), turn.round);
        UNROLL
        for (int i = 0; i < LOADS; i++)
            if (i * THREADS + thread < left)
                own[i] = combined(own[i], of_vector(held[i * THREADS + thread]));
        // All have read it before it is filled again.
        __syncthreads();
        if (thread == 0 && ahead < tiles) {
            bring(ring + turn.at * TILE, vectors, ahead, count, FULL(full, turn.at));
            ahead += tiles_apart;
        }
        advance(&turn, STAGES);
    }
    carried total = combined(of_own(own), of_rest(elements, columns, thread, THREADS));
    total = of_block(joined, THREADS, total);
    if (thread == 0) partials[blockIdx.y * gridDim.x + blockIdx.x] = KEPT(total);
}
