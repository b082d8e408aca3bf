// naive: a thread a segment, its elements one after the other.
//
// x[count], offsets[segments + 1], results[segments].
// Grid: x over blocks of segments.
// Block: x over BLOCK segments.

#include "common/in_turn.h"

// An offset, or the nearest that x has.
__device__ __forceinline__ int64 inside(int64 offset, int64 count)
{
    return offset < 0 ? 0 : offset < count ? offset : count;
}

__global__ void naive(const GLOBAL given* x, const GLOBAL OFFSET* offsets, GLOBAL result* results,
                      int64 segments, int64 count)
{
    int64 segment = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (segment >= segments) return;
    carried total = in_turn(x, inside(offsets[segment], count), inside(offsets[segment + 1], count), 1,
                            1);
    results[segment] = stored(total);
}
