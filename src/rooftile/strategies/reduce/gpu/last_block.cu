// last_block: the block that is the last to end joins the partial results.  CUDA only.
//
// In `vectors`, a second kernel joins them, which begins when the first has ended.  Here each block
// draws a ticket after it has written its partial result; who draws the last one finds all of them,
// and joins them in their order.  What it removes: the second kernel, but not a launch: somebody has
// to clear the tickets first.  Results do not depend on who is the last.
//
// x[rows][columns], partials[rows][segments], results[rows], tickets[rows].
// Grid: x over segments, y over rows; of `clear`, x over blocks of rows.
// Block: x over THREADS (whole warps) threads.

#define FAMILY last_block
#include "common/warp_tree.h"
#include "vectors.h"

__global__ void last_block_clear(unsigned* tickets, int rows)
{
    int64 row = (int64)blockIdx.x * THREADS + threadIdx.x;
    if (row < rows) tickets[row] = 0;
}

__global__ void LAUNCH_BOUNDS(THREADS)
last_block(const given* __restrict__ x, carried* partials, result* __restrict__ results,
           unsigned* tickets, int64 columns)
{
    __shared__ carried joined[THREADS / 32];
    __shared__ bool last;
    int64 row = blockIdx.y;
    int thread = threadIdx.x, segments = gridDim.x;
    const given* elements = x + row * columns;
    int64 at = (int64)blockIdx.x * THREADS + thread, stride = (int64)segments * THREADS;
    carried total = of_share(elements, columns, at, stride);
    total = combined(total, of_rest(elements, columns, thread, THREADS));
    total = of_block(joined, THREADS, total);
    if (thread == 0) {
        partials[row * segments + blockIdx.x] = total;
        // A block with a later ticket sees all writes before this ticket was drawn.
        __threadfence();
        last = atomicAdd(tickets + row, 1) == segments - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    total = IDENTITY;
    for (int j = thread; j < segments; j += THREADS)
        total = combined(total, (carried)__ldcg((LOADED*)partials + row * segments + j));
    total = of_block(joined, THREADS, total);
    if (thread == 0) results[row] = stored(total);
}
