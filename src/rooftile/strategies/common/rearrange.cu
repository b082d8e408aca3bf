// Brings weights that already lie on the device into the order that a strategy's kernels read.
//
// weights[..], places[count], packed[count]: packed[i] is the weight at places[i], zero where
// that is -1.  Grid: x over packed, a thread an element.

#include "common/overlapping.h"

__global__ void rearrange(const GLOBAL float* weights, const GLOBAL int* places,
                          GLOBAL float* packed, int count)
{
    int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    LET_NEXT_BEGIN();
    AWAIT_EARLIER();
    if (i >= count) return;
    packed[i] = places[i] < 0 ? 0.0f : weights[places[i]];
}
