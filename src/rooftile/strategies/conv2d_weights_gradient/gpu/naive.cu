// naive: one thread sums up one weight's gradient, or one bias's, over all images.
//
// x[images][CHANNELS][HEIGHT][WIDTH], dy and where: see common/places.h,
// dweights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH], dbias[MAPS].
// Grid: x over the weights, then the biases.

#include "conv2d_weights_gradient/gpu/term.h"

__global__ void naive(const GLOBAL float* __restrict__ x,
                      const GLOBAL float* __restrict__ dy, WHERE_ARGUMENT Y_ARGUMENT
                      GLOBAL float* __restrict__ dweights,
                      GLOBAL float* __restrict__ dbias, int images)
{
    int64 weight = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (weight >= WEIGHTS + MAPS) return;

    int map = (int)(weight < WEIGHTS ? weight / (CHANNELS * TAPS) : weight - WEIGHTS);
    float sum = 0.0f;
    for (int64 n = 0; n < images; n++) {
        // A sum of its own for each row and image, so that errors do not grow with their number.
        float of_image = 0.0f;
        for (int i = 0; i < ROWS; i++) {
            float of_row = 0.0f;
            for (int e = i * COLUMNS; e < (i + 1) * COLUMNS; e++) {
                int64 number = (n * MAPS + map) * GRADIENTS + e;
                float pixel = weight < WEIGHTS ? seen(x, n, weight, SPOT(number, e)) : 1.0f;
                of_row += GRADIENT(number) * pixel;
            }
            of_image += of_row;
        }
        sum += of_image;
    }
    if (weight < WEIGHTS)
        dweights[weight] = sum;
    else
        dbias[map] = sum;
}
