// teams: TEAM threads a segment, and a tree.
//
// In `naive`, a long segment keeps one thread at work, and the threads of a warp read segments that
// lie apart.  Here a team reads neighbours.  What it removes: reads far apart.  What it costs: in
// short segments most of the team is idle, and the longest segment still keeps one team at work.
//
// x[count], offsets[segments + 1], results[segments].
// Grid: x over runs of ROWS segments.
// Block: x over TEAM (a power of two) threads, y over ROWS segments.

#include "common/in_turn.h"

// An offset, or the nearest that x has.
__device__ __forceinline__ int64 inside(int64 offset, int64 count)
{
    return offset < 0 ? 0 : offset < count ? offset : count;
}

__global__ void LAUNCH_BOUNDS(TEAM * ROWS)
teams(const GLOBAL given* __restrict__ x, const GLOBAL OFFSET* __restrict__ offsets,
      GLOBAL result* __restrict__ results, int64 segments, int64 count)
{
    __shared__ carried joined[TEAM * ROWS];
    int lane = threadIdx.x, thread = threadIdx.y * TEAM + lane;
    int64 segment = (int64)blockIdx.x * ROWS + threadIdx.y;
    carried total = IDENTITY;
    if (segment < segments)
        total = in_turn(x, inside(offsets[segment], count) + lane,
                        inside(offsets[segment + 1], count), TEAM, 1);
    joined[thread] = total;
    for (int reach = TEAM / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (lane < reach) joined[thread] = combined(joined[thread], joined[thread + reach]);
    }
    if (lane == 0 && segment < segments) results[segment] = stored(joined[thread]);
}
