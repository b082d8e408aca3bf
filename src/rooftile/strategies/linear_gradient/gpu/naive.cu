// Rung 1, naive: one thread sums up one element of dx, dweights or dbias.
//
// x[images][INPUTS], y[images][OUTPUTS], dy[images][OUTPUTS], weights[OUTPUTS][INPUTS],
// dx[images][INPUTS], dweights[OUTPUTS][INPUTS], dbias[OUTPUTS].
// Grid: x over the elements of dweights, then of dx, then of dbias.

#include "common/derivative.h"

#define WEIGHTS ((int64)OUTPUTS * INPUTS)
#define DZ(number) (dy[number] * derivative(ACTIVATION, y[number]))

__global__ void linear_gradient(const GLOBAL float* __restrict__ x,
                                const GLOBAL float* __restrict__ y,
                                const GLOBAL float* __restrict__ dy,
                                const GLOBAL float* __restrict__ weights,
                                GLOBAL float* __restrict__ dx, GLOBAL float* __restrict__ dweights,
                                GLOBAL float* __restrict__ dbias, int images)
{
    int64 element = (int64)blockIdx.x * BLOCK + threadIdx.x, pixels = (int64)images * INPUTS;
    float sum = 0.0f;
    if (element < WEIGHTS) {
        int o = (int)(element / INPUTS), i = (int)(element % INPUTS);
        for (int64 n = 0; n < images; n++) sum += DZ(n * OUTPUTS + o) * x[n * INPUTS + i];
        dweights[element] = sum;
    } else if (element < WEIGHTS + pixels) {
        int64 pixel = element - WEIGHTS, n = pixel / INPUTS;
        for (int o = 0; o < OUTPUTS; o++)
            sum += DZ(n * OUTPUTS + o) * weights[(int64)o * INPUTS + pixel % INPUTS];
        dx[pixel] = sum * derivative(BEFORE, x[pixel]);
    } else if (element < WEIGHTS + pixels + OUTPUTS) {
        int64 o = element - WEIGHTS - pixels;
        for (int64 n = 0; n < images; n++) sum += DZ(n * OUTPUTS + o);
        dbias[o] = sum;
    }
}
