// aggregated: a block counts first, and takes places for all of its elements by one atomic.
//
// In `atomic` every element queues up at the counter. Here one of BLOCK does, and a block's stores
// are contiguous. Within a block elements keep their order; blocks come in any.
//
// x[count], mask[count], y[count], kept[1], which is the counter.
// Grid: x over persistent blocks.
// Block: x over BLOCK (a power of two) threads.

#define FAMILY aggregated
#include "common/atomics.h"
#include "counter.h"
#include "items.h"
#include "ranks.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
aggregated(const GLOBAL item* __restrict__ x, const GLOBAL unsigned char* __restrict__ mask,
           GLOBAL item* __restrict__ y, GLOBAL int64* kept, int64 count)
{
    __shared__ int held[BLOCK];
    __shared__ int64 before;
    int64 stride = (int64)gridDim.x * BLOCK;
    for (int64 first = (int64)blockIdx.x * BLOCK; first < count; first += stride) {
        int64 i = first + threadIdx.x;
        int keeps = i < count && mask[i];
        int rank = rank_in_block(keeps, held);
        if (threadIdx.x == 0) before = ADD_LONG(kept, held[BLOCK - 1]);
        __syncthreads();
        if (keeps) y[before + rank] = x[i];
    }
}
