// kogge_stone_double: the same passes from one buffer into another.
//
// Nobody overwrites what a pass reads, so one barrier a pass is left.  Threads without a neighbour
// must copy their element: otherwise the next pass would read the one before the last.  After the
// last pass the result is in the buffer that was written last, `from`.
//
// x[outer][count][inner], y[outer][count][inner].
// Grid: x over lines.
// Block: x over the BLOCK (a power of two) elements of a section.

#include "scan.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
kogge_stone_double(const GLOBAL given* __restrict__ x, GLOBAL result* __restrict__ y, int64 count,
                   int64 inner)
{
    __shared__ carried held[2 * BLOCK];
    int thread = threadIdx.x;
    struct carry before = nothing();
    for (int64 first = 0; first < count; first += BLOCK) {
        int64 element = first + thread, at = place(blockIdx.x, element, count, inner);
        int from = 0, to = BLOCK;
        held[thread] = element < count ? taken(x[at]) : IDENTITY;
        for (int reach = 1; reach < BLOCK; reach *= 2) {
            __syncthreads();
            carried own = held[from + thread];
            held[to + thread] = thread >= reach ? combined(held[from + thread - reach], own) : own;
            from = BLOCK - from, to = BLOCK - to;
        }
        __syncthreads();
        carried own = EXCLUSIVE ? (thread ? held[from + thread - 1] : IDENTITY) : held[from + thread];
        if (element < count) y[at] = stored(combined(value_of(before), own));
        before = joined(before, held[from + BLOCK - 1]);
        __syncthreads();
    }
}
