// naive: one thread makes one element.
//
// y = x / (1 - SHARE), but 0 for a SHARE of the elements, which seed, epoch, step and layer draw; and
// the same of gradients.  rates[][4]: the epoch is a step's last.
// Grid: x over the elements.

#include "philox.h"

__global__ void naive(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ y,
                      const GLOBAL float* __restrict__ rates, const GLOBAL int* __restrict__ step,
                      int count)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    unsigned word[4] = {i / 4 * 4, step[0], (unsigned)rates[4 * step[0] + 3], LAYER};
    philox(word, SEED, OTHER_SEED);
    if (i < count) y[i] = word[i % 4] < DROPPED ? 0.0f : x[i] * ENLARGED;
}
