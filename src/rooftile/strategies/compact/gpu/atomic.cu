// atomic: every element that is kept takes the next place from one counter.
//
// No element waits for those before it, and nothing is read twice.  But then elements come in the
// order in which threads happen to arrive, which differs from run to run, and all of them queue up
// at one counter.
//
// x[count], mask[count], y[count], kept[1], which is the counter.
// Grid: x over persistent blocks.
// Block: x over BLOCK threads.

#define FAMILY atomic
#include "common/atomics.h"
#include "counter.h"
#include "items.h"

__global__ void atomic(const GLOBAL item* __restrict__ x,
                       const GLOBAL unsigned char* __restrict__ mask, GLOBAL item* __restrict__ y,
                       GLOBAL int64* kept, int64 count)
{
    int64 stride = (int64)gridDim.x * BLOCK;
    for (int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x; i < count; i += stride) {
        if (mask[i]) y[ADD_LONG(kept, 1)] = x[i];
    }
}
