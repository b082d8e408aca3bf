// fours: one thread makes four neighbouring numbers, of which one access brings all where 16 bits are
// widened; the last thread's are one by one.
//
// What it removes: three accesses in four, of those that `naive` asks for.
//
// Sums and products are no part of this, so each kernel takes the time of its bytes.
// x[count] of what is given, y[count] of what is made.  Grid: x over blocks of THREADS threads.

#include "bits.h"

__global__ void fours(const GLOBAL given* __restrict__ x, GLOBAL made* __restrict__ y, int64 count)
{
    int64 first = 4 * ((int64)blockIdx.x * THREADS + threadIdx.x);
    int64 last = first + 4 < count ? first + 4 : count;
#if WIDENS
    if (first + 4 <= count) {
        uint2 four = *(const GLOBAL uint2*)(x + first);
        *(GLOBAL float4*)(y + first) =
            make_float4(widened((narrow)(four.x & 0xffff)), widened((narrow)(four.x >> 16)),
                        widened((narrow)(four.y & 0xffff)), widened((narrow)(four.y >> 16)));
        return;
    }
#endif
    for (int64 i = first; i < last; i++) y[i] = MADE(x[i]);
}
