// Rung 1, naive: a thread a segment, its elements one after the other.
//
// x[count], offsets[segments + 1], results[segments].
// Grid: x over blocks of segments.
// Block: x over BLOCK segments.

#include "common/in_turn.h"

__global__ void naive(const GLOBAL given* x, const GLOBAL OFFSET* offsets, GLOBAL result* results,
                      int64 segments)
{
    int64 segment = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (segment >= segments) return;
    carried total = in_turn(x, offsets[segment], offsets[segment + 1], 1, 1);
    results[segment] = stored(total);
}
