// What stands behind a layer: an activation that it does not fuse, and dropout.

#ifdef ACTIVATION
#include "common/activations.h"

// y = activation(x).  Grid: x over the elements.
__global__ void activation(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ y,
                           int count)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < count) y[i] = activated(ACTIVATION, x[i]);
}
#endif

#ifdef SEED
// Four random words of a counter's four: whoever asks again is told the same.
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11 (Philox).
__device__ __forceinline__ void philox(unsigned word[4], unsigned key, unsigned other)
{
    for (int round = 0; round < 10; round++) {
        unsigned long even = (unsigned long)word[0] * 0xD2511F53u;
        unsigned long odd = (unsigned long)word[2] * 0xCD9E8D57u;
        word[0] = (unsigned)(odd >> 32) ^ word[1] ^ key, word[1] = (unsigned)odd;
        word[2] = (unsigned)(even >> 32) ^ word[3] ^ other, word[3] = (unsigned)even;
        key += 0x9E3779B9u, other += 0xBB67AE85u;
    }
}

// y = x / (1 - SHARE), but 0 for a SHARE of the elements, which seed, epoch, step and layer draw; and
// the same of gradients.  rates: see update.cu, the epoch is a step's last.
// Grid: x over the elements, four a thread.
__global__ void dropout(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ y,
                        const GLOBAL float* __restrict__ rates, const GLOBAL int* __restrict__ step,
                        int count)
{
    int first = 4 * (blockIdx.x * 256 + threadIdx.x);
    unsigned word[4] = {first, step[0], (unsigned)rates[4 * step[0] + 3], LAYER};
    philox(word, SEED, OTHER_SEED);
    for (int k = 0; k < 4; k++)
        if (first + k < count)
            y[first + k] = word[k] < DROPPED ? 0.0f : x[first + k] * ENLARGED;
}
#endif
