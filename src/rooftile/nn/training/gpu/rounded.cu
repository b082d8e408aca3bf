// Rounds numbers to the cores' own type, in fours: to[count] from `from`[count].
//
// Grid: x over fours.

#include "common/narrow.h"
#include "common/overlapping.h"

__global__ void rounded(const GLOBAL float* from, GLOBAL uint2* __restrict__ to, int fours)
{
    AWAIT_EARLIER();
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= fours) return;
    float4 four = ((const GLOBAL float4*)from)[i];
    to[i] = make_uint2(pack(four.x, four.y), pack(four.z, four.w));
}
