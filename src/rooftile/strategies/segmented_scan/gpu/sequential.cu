// sequential: a thread a segment, its elements one after the other.
//
// A warp takes as long as its longest segment, and its loads lie a segment apart.
//
// x[count], offsets[segments + 1], y[count].
// Grid: x over blocks of segments.
// Block: x over BLOCK segments.

#include "scan/gpu/scan.h"

typedef OFFSET offset;

__global__ void sequential(const GLOBAL given* x, const GLOBAL offset* offsets, GLOBAL result* y,
                           int64 segments, int64 count)
{
    int64 segment = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (segment >= segments) return;
    // Offsets that are none must not reach beyond the arrays.
    int64 first = offsets[segment] < 0 ? 0 : offsets[segment];
    int64 last = offsets[segment + 1] > count ? count : offsets[segment + 1];
    struct carry before = nothing();
    for (int64 e = first; e < last; e++) {
        struct carry after = joined(before, taken(x[e]));
        y[e] = stored(value_of(EXCLUSIVE ? before : after));
        before = after;
    }
}
