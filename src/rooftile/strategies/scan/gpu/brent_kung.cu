// brent_kung: a tree up, and the same tree down; two elements a thread.
//
// Fewer than two combinations an element, where kogge_stone has log2 of the section; twice as many
// passes, in most of which few threads work.  They are the first ones, so that whole warps idle.
//
// x[outer][count][inner], y[outer][count][inner].
// Grid: x over lines.
// Block: x over BLOCK (a power of two) threads, for a section of 2 BLOCK elements.

#include "scan.h"

#define SECTION (2 * BLOCK)

__global__ void LAUNCH_BOUNDS(BLOCK)
brent_kung(const GLOBAL given* __restrict__ x, GLOBAL result* __restrict__ y, int64 count,
           int64 inner)
{
    __shared__ carried held[SECTION];
    int thread = threadIdx.x;
    struct carry before = nothing();
    for (int64 first = 0; first < count; first += SECTION) {
        for (int e = thread; e < SECTION; e += BLOCK)
            held[e] = first + e < count ? taken(x[place(blockIdx.x, first + e, count, inner)])
                                        : IDENTITY;
        for (int reach = 1; reach < SECTION; reach *= 2) {
            __syncthreads();
            int right = (thread + 1) * 2 * reach - 1;
            if (right < SECTION) held[right] = combined(held[right - reach], held[right]);
        }
        for (int reach = SECTION / 4; reach > 0; reach /= 2) {
            __syncthreads();
            int left = (thread + 1) * 2 * reach - 1;
            if (left + reach < SECTION)
                held[left + reach] = combined(held[left], held[left + reach]);
        }
        __syncthreads();
        for (int e = thread; e < SECTION && first + e < count; e += BLOCK) {
            carried own = EXCLUSIVE ? (e ? held[e - 1] : IDENTITY) : held[e];
            y[place(blockIdx.x, first + e, count, inner)] =
                stored(combined(value_of(before), own));
        }
        before = joined(before, held[SECTION - 1]);
        __syncthreads();
    }
}
