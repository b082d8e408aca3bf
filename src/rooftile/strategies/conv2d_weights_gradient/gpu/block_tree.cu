// block_tree: one block sums up one weight's gradient, or one bias's.
//
// In `naive` there are as many threads as weights, some hundreds, and each walks all gradients of a
// map.  Here a block's threads share them out, neighbours take neighbouring gradients, and a tree
// joins their sums.  What it removes: the wait of a nearly empty GPU.  Every block still reads
// all gradients of its map, and the pixels that its weight met.
//
// x[images][CHANNELS][HEIGHT][WIDTH], dy and where: see common/places.h,
// dweights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH], dbias[MAPS].
// Grid: x over the weights, then the biases; blocks take further ones where there are more.

#include "conv2d_weights_gradient/gpu/term.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
block_tree(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ dy,
           WHERE_ARGUMENT Y_ARGUMENT GLOBAL float* __restrict__ dweights,
           GLOBAL float* __restrict__ dbias, int images)
{
    __shared__ float joined[BLOCK];
    int lane = threadIdx.x;
    int64 terms = (int64)images * GRADIENTS;
    for (int64 weight = blockIdx.x; weight < WEIGHTS + MAPS; weight += gridDim.x) {
        int map = (int)(weight < WEIGHTS ? weight / (CHANNELS * TAPS) : weight - WEIGHTS);
        float sum = 0.0f;
        for (int64 term = lane; term < terms; term += BLOCK) {
            int64 n = term / GRADIENTS;
            int e = (int)(term % GRADIENTS);
            int64 number = (n * MAPS + map) * GRADIENTS + e;
            float pixel = weight < WEIGHTS ? seen(x, n, weight, SPOT(number, e)) : 1.0f;
            sum += GRADIENT(number) * pixel;
        }
        joined[lane] = sum;
        for (int reach = BLOCK / 2; reach > 0; reach /= 2) {
            __syncthreads();
            if (lane < reach) joined[lane] += joined[lane + reach];
        }
        if (lane == 0 && weight < WEIGHTS) dweights[weight] = joined[0];
        if (lane == 0 && weight >= WEIGHTS) dbias[map] = joined[0];
        __syncthreads();
    }
}
