// naive: a launch for each layer, the loss and each gradient, a thread an element.
//
// x[images][FEATURES] and hidden[images][INPUTS] where FEATURES is not 0, else value = x[images][INPUTS];
// first_weights[INPUTS][FEATURES], weights[OUTPUTS][INPUTS], labels[images], scores and dz
// [images][OUTPUTS], loss[images].  value is that of the activation BEFORE, x that of BELOW.
// Grid: x over the elements that are made; of `naive_losses`, over the images.

#include "common/activations.h"

#ifdef __OPENCL_VERSION__
#define logf log
#endif

#define OWN ((int64)blockIdx.x * BLOCK + threadIdx.x)

// The sum of the products of two rows.
__device__ __forceinline__ float product(const GLOBAL float* a, const GLOBAL float* b, int count)
{
    float sum = 0.0f;
    for (int i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

// The sum of the products of a row and a column of a matrix with `wide` columns.
__device__ __forceinline__ float down(const GLOBAL float* row, const GLOBAL float* column, int count,
                                      int wide)
{
    float sum = 0.0f;
    for (int i = 0; i < count; i++) sum += row[i] * column[(int64)i * wide];
    return sum;
}

#if FEATURES
__global__ void naive_hidden(const GLOBAL float* x, const GLOBAL float* first_weights,
                             const GLOBAL float* first_bias, GLOBAL float* hidden, int images)
{
    int64 k = OWN;
    if (k >= (int64)images * INPUTS) return;
    int64 n = k / INPUTS, o = k % INPUTS;
    float sum = product(x + n * FEATURES, first_weights + o * FEATURES, FEATURES);
    hidden[k] = activated(BEFORE, sum + first_bias[o]);
}

__global__ void naive_dx(const GLOBAL float* x, const GLOBAL float* first_weights,
                         const GLOBAL float* hidden_dz, GLOBAL float* dx, int images)
{
    int64 k = OWN;
    if (k >= (int64)images * FEATURES) return;
    int64 n = k / FEATURES, i = k % FEATURES;
    float sum = down(hidden_dz + n * INPUTS, first_weights + i, INPUTS, FEATURES);
    dx[k] = sum * derivative(BELOW, x[k]);
}
#endif

__global__ void naive_scores(const GLOBAL float* value, const GLOBAL float* weights,
                             const GLOBAL float* bias, GLOBAL float* scores, int images)
{
    int64 k = OWN;
    if (k >= (int64)images * OUTPUTS) return;
    int64 n = k / OUTPUTS, o = k % OUTPUTS;
    scores[k] = product(value + n * INPUTS, weights + o * INPUTS, INPUTS) + bias[o];
}

#if SCALED
#define SCALING_ARGUMENT const GLOBAL float *scaling,
#define SCALE scaling[0]
#else
#define SCALING_ARGUMENT
#define SCALE 1.0f
#endif

__global__ void naive_losses(const GLOBAL float* scores, const GLOBAL int* labels,
                             SCALING_ARGUMENT GLOBAL float* loss, GLOBAL float* dz, int images)
{
    int64 n = OWN;
    if (n >= images) return;
    const GLOBAL float* row = scores + n * OUTPUTS;
    float largest = -INFINITY, sum = 0.0f;
    for (int o = 0; o < OUTPUTS; o++) largest = maximum(largest, row[o]);
    for (int o = 0; o < OUTPUTS; o++) sum += expf(row[o] - largest);
    int label = labels[n];
    loss[n] = logf(sum) - (row[label] - largest);
    for (int o = 0; o < OUTPUTS; o++)
        dz[n * OUTPUTS + o] =
            SCALE * ((expf(row[o] - largest) / sum - (o == label ? 1.0f : 0.0f)) / DIVISOR);
}

__global__ void naive_change(const GLOBAL float* value, const GLOBAL float* weights,
                             const GLOBAL float* dz, GLOBAL float* change, int images)
{
    int64 k = OWN;
    if (k >= (int64)images * INPUTS) return;
    int64 n = k / INPUTS, i = k % INPUTS;
    float sum = down(dz + n * OUTPUTS, weights + i, OUTPUTS, INPUTS);
    change[k] = sum * derivative(BEFORE, value[k]);
}
