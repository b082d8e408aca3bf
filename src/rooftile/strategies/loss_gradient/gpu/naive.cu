// naive: one thread makes one row's loss and gradient.
//
// y[rows][OUTPUTS]; labels[rows] or, with NUMBERS, wanted[rows][OUTPUTS], which are the same
// memory; loss[rows], dy[rows][OUTPUTS].  Grid: x over the rows.

#include "one_output.h"

__global__ void naive(const GLOBAL float* __restrict__ y, const GLOBAL int* labels,
                      const GLOBAL float* wanted, GLOBAL float* __restrict__ loss,
                      GLOBAL float* __restrict__ dy, int rows)
{
    int n = blockIdx.x * BLOCK + threadIdx.x;
    if (n >= rows) return;
    float sum = 0.0f, share = 1.0f / (float)rows;
    for (int k = 0; k < OUTPUTS; k++) {
        float value = y[(int64)n * OUTPUTS + k];
        float slope = cost_of(value, labels, wanted, n, k, &sum);
        dy[(int64)n * OUTPUTS + k] = slope * share;
    }
    loss[n] = sum;
}
