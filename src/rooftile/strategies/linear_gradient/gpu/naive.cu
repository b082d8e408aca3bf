// naive: one thread sums up one element of dx, dweights or dbias.
//
// x[images][INPUTS], y[images][OUTPUTS], dy[images][OUTPUTS], weights[OUTPUTS][INPUTS],
// dx[images][INPUTS], dweights[OUTPUTS][INPUTS], dbias[OUTPUTS].
// Grid: x over the elements of dweights, then of dx, then of dbias.

#include "common/activations.h"

// Terms that are summed by themselves: of equal terms, long sums round the same way again and again.
#define RUN 32
#define WEIGHTS ((int64)OUTPUTS * INPUTS)
#define DZ(number) (dy[number] * derivative(ACTIVATION, y[number]))

__global__ void naive(const GLOBAL float* __restrict__ x,
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
        for (int64 first = 0; first < images; first += RUN) {
            float run = 0.0f;
            for (int64 n = first; n < first + RUN && n < images; n++)
                run += DZ(n * OUTPUTS + o) * x[n * INPUTS + i];
            sum += run;
        }
        dweights[element] = sum;
    } else if (element < WEIGHTS + pixels) {
        int64 pixel = element - WEIGHTS, n = pixel / INPUTS;
        for (int first = 0; first < OUTPUTS; first += RUN) {
            float run = 0.0f;
            for (int o = first; o < first + RUN && o < OUTPUTS; o++)
                run += DZ(n * OUTPUTS + o) * weights[(int64)o * INPUTS + pixel % INPUTS];
            sum += run;
        }
        dx[pixel] = sum * derivative(BEFORE, x[pixel]);
    } else if (element < WEIGHTS + pixels + OUTPUTS) {
        int64 o = element - WEIGHTS - pixels;
        for (int64 first = 0; first < images; first += RUN) {
            float run = 0.0f;
            for (int64 n = first; n < first + RUN && n < images; n++) run += DZ(n * OUTPUTS + o);
            sum += run;
        }
        dbias[o] = sum;
    }
}
