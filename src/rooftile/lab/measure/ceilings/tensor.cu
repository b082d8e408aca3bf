// Warp-wide matrix instructions (mma.sync, float32 sums) and nothing else; CUDA only.
// A and B stay in registers, TILES independent sums a warp hide the latency.

#include "common/mma.h"

// x[1024]: bits of values that are not zero, which would draw less power; out[blocks * threads].
__global__ void mma_tiles(const unsigned* __restrict__ x, float* __restrict__ out)
{
    unsigned a[4], b[2];
    float d[TILES][4], sum = 0.0f;
    for (int i = 0; i < 4; i++)
        a[i] = x[(threadIdx.x * 6 + i) % 1024];
    for (int i = 0; i < 2; i++)
        b[i] = x[(threadIdx.x * 6 + 4 + i) % 1024];
    UNROLL for (int tile = 0; tile < TILES; tile++)
        for (int i = 0; i < 4; i++)
            d[tile][i] = 0.0f;
    for (int step = 0; step < STEPS; step++) {
        UNROLL for (int tile = 0; tile < TILES; tile++)
            multiply_add(d[tile], a, b);
    }
    UNROLL for (int tile = 0; tile < TILES; tile++)
        sum += d[tile][0] + d[tile][1] + d[tile][2] + d[tile][3];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
