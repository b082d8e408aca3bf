// odd_even: a block a line in shared memory; neighbours are exchanged, count times.
//
// In even rounds elements 0 and 1, 2 and 3, ... are compared, in odd rounds 1 and 2, 3 and 4, ...
// It is bubble sort for as many threads as half of the elements: count rounds, count^2 / 2
// comparisons.
//
// x[outer][count][inner]; results as x.
// Grid: x over lines.
// Block: x over BLOCK threads, for a line of up to SECTION elements.

#include "network.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
odd_even(const GLOBAL key* x, const GLOBAL unsigned* with_it, GLOBAL key* y, GLOBAL unsigned* moved,
         int count, int64 inner)
{
    __shared__ key keys[SECTION];
    __shared__ unsigned from[SECTION];
    int64 line = blockIdx.x;
    for (int e = threadIdx.x; e < count; e += BLOCK)
        keys[e] = key_of(x[place(line, e, count, inner)]), from[e] = e;
    for (int round = 0; round < count; round++) {
        __syncthreads();
        for (int e = 2 * threadIdx.x + round % 2; e + 1 < count; e += 2 * BLOCK) {
            if (!behind(keys[e], from[e], keys[e + 1], from[e + 1])) continue;
            key kept = keys[e];
            unsigned from_kept = from[e];
            keys[e] = keys[e + 1], from[e] = from[e + 1];
            keys[e + 1] = kept, from[e + 1] = from_kept;
        }
    }
    __syncthreads();
    for (int e = threadIdx.x; e < count; e += BLOCK) {
        unsigned goes = GIVES == PAIRS ? with_it[place(line, from[e], count, inner)] : from[e];
        put(y, moved, keys[e], goes, 1, line, e, count, inner);
    }
}
