// kogge_stone: a block a line, by sections; each thread adds its neighbour 1, 2, 4 ... away.
//
// log2(BLOCK) passes instead of BLOCK steps, for log2(BLOCK) times as many combinations.  A pass
// reads what another thread is about to overwrite: so everybody reads to a register, meets, and
// writes only then.  That is two barriers a pass.
//
// x[outer][count][inner], y[outer][count][inner].
// Grid: x over lines.
// Block: x over the BLOCK (a power of two) elements of a section.

#include "scan.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
kogge_stone(const GLOBAL given* __restrict__ x, GLOBAL result* __restrict__ y, int64 count,
            int64 inner)
{
    __shared__ carried held[BLOCK];
    int thread = threadIdx.x;
    struct carry before = nothing();
    for (int64 first = 0; first < count; first += BLOCK) {
        int64 element = first + thread, at = place(blockIdx.x, element, count, inner);
        held[thread] = element < count ? taken(x[at]) : IDENTITY;
        for (int reach = 1; reach < BLOCK; reach *= 2) {
            __syncthreads();
            carried other = thread >= reach ? held[thread - reach] : IDENTITY;
            __syncthreads();
            if (thread >= reach) held[thread] = combined(other, held[thread]);
        }
        __syncthreads();
        carried own = EXCLUSIVE ? (thread ? held[thread - 1] : IDENTITY) : held[thread];
        if (element < count) y[at] = stored(combined(value_of(before), own));
        before = joined(before, held[BLOCK - 1]);
        // Everybody has read before the next section is written.
        __syncthreads();
    }
}
