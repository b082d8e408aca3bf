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

#include "common/tile_ring.h"
#include "common/warp_tree.h"
#include "vectors.h"

__global__ void LAUNCH_BOUNDS(THREADS)
segments(const given* __restrict__ x, kept* __restrict__ partials, int64 columns)
{
    SHARED_ARRAY(vector, held);
    __shared__ __align__(8) word barriers[STAGES];
    __shared__ carried joined[THREADS / 32];
    int thread = threadIdx.x;
    const given* elements = x + blockIdx.y * columns;
    struct ring ring = ring_of(held, barriers, elements, columns / VECTOR);

    carried own[LOADS];
    UNROLL
    for (int i = 0; i < LOADS; i++) own[i] = IDENTITY;
    while (ring.tile < ring.tiles) {
        const vector* tile = await_tile(&ring);
        int64 left = left_of(&ring);
        UNROLL
        for (int i = 0; i < LOADS; i++)
            if (i * THREADS + thread < left)
                own[i] = combined(own[i], of_vector(tile[i * THREADS + thread]));
        give_tile(&ring);
    }
    carried total = combined(of_own(own), of_rest(elements, columns, thread, THREADS));
    total = of_block(joined, THREADS, total);
    if (thread == 0) partials[blockIdx.y * gridDim.x + blockIdx.x] = KEPT(total);
}
