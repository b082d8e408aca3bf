// naive: one thread makes one row's loss and gradient.
//
// x[images][CLASSES], labels[images], weights[CLASSES] where WEIGHTED, loss[images],
// dx[images][CLASSES].
// Grid: x over the rows.

#include "label.h"

#ifdef __OPENCL_VERSION__
#define logf log
#endif

__global__ void naive(const GLOBAL float* x, const GLOBAL int* labels,
                      const GLOBAL float* weights, GLOBAL float* loss, GLOBAL float* dx,
                      int images)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= images) return;

    const GLOBAL float* given = x + (size_t)row * CLASSES;
    GLOBAL float* made = dx + (size_t)row * CLASSES;
    int label = labels[row];
    if (!counts(label)) {
        for (int k = 0; k < CLASSES; k++) made[k] = 0.0f;
        loss[row] = 0.0f;
        return;
    }
    float factor = factor_of(weights, label);
    float largest = -INFINITY, sum = 0.0f;
    for (int k = 0; k < CLASSES; k++) largest = maximum(largest, given[k]);
    for (int k = 0; k < CLASSES; k++) sum += expf(given[k] - largest);
    for (int k = 0; k < CLASSES; k++)
        made[k] = (expf(given[k] - largest) / sum - (k == label ? 1.0f : 0.0f)) * factor / DIVISOR;
    loss[row] = (logf(sum) - (given[label] - largest)) * factor;
}
