// naive and naive_reads: a thread an element, for any order of four axes.
//
// Neighbouring threads have neighbours of one array: in `naive` of the result, so that stores
// are coalesced and loads lie apart, in `naive_reads` (READS is 1) of x, the other way round.
// A sector that loads touch for one element may still be in the cache for the next.  One that
// stores touch is written in parts.
//
// near[outermost][second][third][fourth] is y, or x where READS is 1; far is the other array,
// where the elements of an axis lie its stride apart.
// Grid: x over tiles of the last two axes, y over the first two.
// Block: x over ACROSS of the last axis, y over DOWN of the third.

#include "common/elements.h"

__global__ void naive(const GLOBAL element* x, GLOBAL element* y, int64 outermost, int64 second,
                      int64 third, int64 fourth, int64 stride_0, int64 stride_1, int64 stride_2,
                      int64 stride_3)
{
    int64 tiles = (fourth + ACROSS - 1) / ACROSS;
    int64 j = blockIdx.x % tiles * ACROSS + threadIdx.x;
    int64 i = blockIdx.x / tiles * DOWN + threadIdx.y;
    if (i >= third || j >= fourth) return;
    for (int64 outer = blockIdx.y; outer < outermost * second; outer += gridDim.y) {
        int64 near = (outer * third + i) * fourth + j;
        int64 far = outer / second * stride_0 + outer % second * stride_1 + i * stride_2;
        far += j * stride_3;
#if READS
        y[far] = x[near];
#else
        y[near] = x[far];
#endif
    }
}
