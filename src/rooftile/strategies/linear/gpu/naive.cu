// Rung 1, naive: one thread makes one output, everything from global memory.
//
// Neighbouring threads make neighbouring outputs of an image, so they read the same input at
// the same time, but weights that lie a whole row apart.
//
// x[images][INPUTS], weights[OUTPUTS][INPUTS], bias[OUTPUTS], out[images][OUTPUTS].
// Grid: x over the results.

#include "linear/gpu/linear.h"

__global__ void linear(const GLOBAL float* x, const GLOBAL float* weights, const GLOBAL float* bias,
                       GLOBAL float* out, int images)
{
    int64 result = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (result >= (int64)images * OUTPUTS) return;

    int o = (int)(result % OUTPUTS);
    const GLOBAL float* input = x + (size_t)(result / OUTPUTS) * INPUTS;
    const GLOBAL float* row = weights + (size_t)o * INPUTS;
    float sum = bias[o];
    for (int i = 0; i < INPUTS; i++) sum += row[i] * input[i];
    out[result] = activate(sum);
}
