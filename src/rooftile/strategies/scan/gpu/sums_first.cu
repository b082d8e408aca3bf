// sums_first: stretches of a line are summed first, and scanned with what is before them.
//
// Nothing is written twice: an element is read twice and its result written once, 12 bytes of 4
// instead of 16.  A stretch has as many sections as leave no more blocks than keep the device busy,
// so that the sums of a line are one section or a few.
//
// x[outer][count][inner], y[outer][count][inner], sums[lines][stretches].
// Grid: x over stretches of all lines.
// Block: x over BLOCK (a power of two) threads, for a section of BLOCK RUN elements.

#define FAMILY sums_first
#include "sums.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
sums_first_sum_stretches(const GLOBAL given* __restrict__ x, GLOBAL carried* __restrict__ sums,
                         int64 stretches, int64 stretch, int64 count, int64 inner)
{
    __shared__ carried held[SLOTS], ends[BLOCK];
    int64 line = blockIdx.x / stretches, first = blockIdx.x % stretches * stretch;
    int64 last = first + stretch < count ? first + stretch : count;
    struct carry before = nothing();
    for (; first < last; first += SECTION) {
        bring(held, x, line, first, last, count, inner);
        before = joined(before, scan_section(held, ends));
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = value_of(before);
}

__global__ void LAUNCH_BOUNDS(BLOCK)
sums_first_scan_stretches(const GLOBAL given* __restrict__ x, GLOBAL result* __restrict__ y,
                          const GLOBAL carried* __restrict__ sums, int64 stretches, int64 stretch,
                          int64 count, int64 inner)
{
    __shared__ carried held[SLOTS], ends[BLOCK];
    int64 line = blockIdx.x / stretches, own = blockIdx.x % stretches, first = own * stretch;
    int64 last = first + stretch < count ? first + stretch : count;
    struct carry before = nothing();
    if (own) before.high = sums[blockIdx.x - 1];
    for (; first < last; first += SECTION) {
        bring(held, x, line, first, last, count, inner);
        carried all = scan_section(held, ends);
        take_away(held, value_of(before), y, line, first, last, count, inner);
        before = joined(before, all);
        __syncthreads();
    }
}
