// naive: one thread makes a weight's or a bias's gradient, and walks along the images.
//
// x[images][FEATURES], change[images][INPUTS] (the gradient before its activation) of the layer before
// the last, where FEATURES is not 0; given[images][INPUTS], dz[images][OUTPUTS] of the last.
// Grid: x over the parameters: weights, then biases, of each layer.

#include "common/pipelines/pdl.h"
#include "put.h"

#define RUN 32

__global__ void naive(const GLOBAL float* x, const GLOBAL float* change, const GLOBAL float* given,
                      const GLOBAL float* dz, MADE_ARGUMENTS, int images)
{
    GRIDDEPCONTROL_WAIT();
    int k = blockIdx.x * BLOCK + threadIdx.x;
    if (k >= ALL) return;
    int is_first = k < FIRST_ALL, own = is_first ? k : k - FIRST_ALL;
    int inputs = is_first ? FEATURES : INPUTS, outputs = is_first ? INPUTS : OUTPUTS;
    const GLOBAL float* values = is_first ? x : given;
    const GLOBAL float* gradients = is_first ? change : dz;
    int is_bias = own >= inputs * outputs;
    int o = is_bias ? own - inputs * outputs : own / inputs, i = is_bias ? 0 : own % inputs;
    float sum = 0.0f;
    for (int first = 0; first < images; first += RUN) {
        // Sums of a run by themselves: of equal terms, long sums round the same way again and again.
        float run = 0.0f;
        for (int n = first; n < first + RUN && n < images; n++) {
            float factor = gradients[(int64)n * outputs + o];
            run += is_bias ? factor : factor * values[(int64)n * inputs + i];
        }
        sum += run;
    }
    put(k, sum, first_dweights, first_dbias, dweights, dbias);
}
