// quads: one thread makes four neighbouring elements, of the four words that a counter gives.
//
// What it removes: three quarters of the rounds of `naive`, whose threads throw three words away.
//
// y = x / (1 - SHARE), but 0 for a SHARE of the elements, which seed, epoch, step and layer draw; and
// the same of gradients.  rates[][4]: the epoch is a step's last.
// Grid: x over the elements, four a thread.

#include "philox.h"

__global__ void quads(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ y,
                      const GLOBAL float* __restrict__ rates, const GLOBAL int* __restrict__ step,
                      int count)
{
    int first = 4 * (blockIdx.x * BLOCK + threadIdx.x);
    unsigned word[4] = {first, step[0], (unsigned)rates[4 * step[0] + 3], LAYER};
    philox(word, SEED, OTHER_SEED);
    for (int k = 0; k < 4; k++)
        if (first + k < count)
            y[first + k] = word[k] < DROPPED ? 0.0f : x[first + k] * ENLARGED;
}
