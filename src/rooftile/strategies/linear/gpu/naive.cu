// naive: one thread makes one output, everything from global memory.
//
// Neighbouring threads make neighbouring outputs of an image, so they read the same input at
// the same time, but weights that lie a whole row apart.
//
// x[images][INPUTS], weights[OUTPUTS][INPUTS], bias[OUTPUTS], out[images][OUTPUTS].
// Grid: x over the results.

#include "gemm/gpu/epilogue.h"

// So many products are added by themselves: a single sum of all would gather, in an adverse order,
// more rounding errors than the square root of their number.
#define RUN 32

__global__ void naive(const GLOBAL float* x, const GLOBAL float* weights, const GLOBAL float* bias,
                      GLOBAL float* out, int images)
{
    int64 result = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (result >= (int64)images * OUTPUTS) return;

    int o = (int)(result % OUTPUTS);
    const GLOBAL float* input = x + (size_t)(result / OUTPUTS) * INPUTS;
    const GLOBAL float* row = weights + (size_t)o * INPUTS;
    float sum = bias[o];
    for (int start = 0; start < INPUTS; start += RUN) {
        int end = start + RUN < INPUTS ? start + RUN : INPUTS;
        float run = 0.0f;
        for (int i = start; i < end; i++) run += row[i] * input[i];
        sum += run;
    }
    out[result] = activate(sum);
}
