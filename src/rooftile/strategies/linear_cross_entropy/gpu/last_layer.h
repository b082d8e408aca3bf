// A network's last layer and the cross-entropy of its softmax, forward and backward, by a block for
// ITEMS items, whose numbers are in shared memory.  THREADS: the block's threads.
//
// given[ITEMS][INPUTS] is what the layer reads, score[ITEMS][OUTPUTS], gradient[ITEMS][OUTPUTS] (of
// the mean loss, before the softmax); weights[OUTPUTS][INPUTS], in HELD memory; bias[OUTPUTS].
// With SCALED the loss is multiplied by scaling[0].

#pragma once

#include "common/activations.h"
#include "common/pipelines/pdl.h"

#ifdef __OPENCL_VERSION__
#define logf log
#endif

// The numbers that LANES threads join to a score, and one more, for the banks.
#define SCORES (ITEMS * OUTPUTS * (LANES + 1))

#if SCALED
#define SCALING_ARGUMENT const GLOBAL float* scaling,
#define SCALE scaling[0]
#else
#define SCALING_ARGUMENT
#define SCALE 1.0f
#endif

// Where parameters are SETTLED when the launch may begin, they are read before the previous launch
// ends: a convolution is between it and the step before, and lets no launch begin before it has
// waited.
#if SETTLED
#define GRIDDEPCONTROL_WAIT_UNSETTLED()
#define GRIDDEPCONTROL_WAIT_SETTLED() GRIDDEPCONTROL_WAIT()
#else
#define GRIDDEPCONTROL_WAIT_UNSETTLED() GRIDDEPCONTROL_WAIT()
#define GRIDDEPCONTROL_WAIT_SETTLED()
#endif

// Brings parameters to shared memory.
__device__ __forceinline__ void read_parameters(const GLOBAL float* from, SHARED float* to,
                                                int count, int thread)
{
    UNROLL_BY(8) for (int k = thread; k < count; k += THREADS) to[k] = from[k];
}

// The labels of the items from `first` on; those beyond the last repeat it.
__device__ __forceinline__ void read_labels(const GLOBAL int* labels, SHARED int* to, int first,
                                            int images, int thread)
{
    if (thread < ITEMS) to[thread] = labels[first + thread < images ? first + thread : images - 1];
}

// score[ITEMS][OUTPUTS] of given[ITEMS][INPUTS]; joined[SCORES] is overwritten.
__device__ __forceinline__ void make_scores(const SHARED float* given, const HELD float* weights,
                                            const SHARED float* bias, SHARED float* joined,
                                            SHARED float* score, int thread)
{
    for (int k = thread; k < ITEMS * OUTPUTS * LANES; k += THREADS) {
        int lane = k % LANES, o = k / LANES % OUTPUTS, item = k / (LANES * OUTPUTS);
        float sum = 0.0f;
        UNROLL_BY(8) for (int i = lane; i < INPUTS; i += LANES)
            sum += given[item * INPUTS + i] * weights[o * INPUTS + i];
        joined[k / LANES * (LANES + 1) + lane] = sum;
    }
    __syncthreads();
    for (int k = thread; k < ITEMS * OUTPUTS; k += THREADS) {
        float sum = 0.0f;
        UNROLL for (int lane = 0; lane < LANES; lane++) sum += joined[k * (LANES + 1) + lane];
        score[k] = sum + bias[k % OUTPUTS];
    }
    __syncthreads();
}

// The losses of the items from `first` on, and the gradients of their scores:
// gradient[ITEMS][OUTPUTS], and dz.
__device__ __forceinline__ void make_losses(const SHARED float* score, const SHARED int* labels,
                                            float scale, GLOBAL float* loss, GLOBAL float* dz,
                                            SHARED float* gradient, int first, int images,
                                            int thread)
{
    for (int k = thread; k < ITEMS * OUTPUTS; k += THREADS) {
        int n = first + k / OUTPUTS, o = k % OUTPUTS;
        const SHARED float* row = score + k / OUTPUTS * OUTPUTS;
        float largest = -INFINITY, sum = 0.0f;
        for (int other = 0; other < OUTPUTS; other++) largest = maximum(largest, row[other]);
        for (int other = 0; other < OUTPUTS; other++) sum += expf(row[other] - largest);
        int label = labels[k / OUTPUTS];
        float of_mean = (expf(row[o] - largest) / sum - (o == label ? 1.0f : 0.0f)) / DIVISOR;
        gradient[k] = scale * of_mean;
        if (n >= images) continue;
        dz[(int64)n * OUTPUTS + o] = scale * of_mean;
        if (o == 0) loss[n] = logf(sum) - (row[label] - largest);
    }
    __syncthreads();
}

// The gradient of element k of given[ITEMS][INPUTS], before the activation that made it.
__device__ __forceinline__ float change_of(int k, const SHARED float* given,
                                           const HELD float* weights, const SHARED float* gradient)
{
    float sum = 0.0f;
    UNROLL_BY(8) for (int o = 0; o < OUTPUTS; o++)
        sum += gradient[k / INPUTS * OUTPUTS + o] * weights[o * INPUTS + k % INPUTS];
    return sum * derivative(BEFORE, given[k]);
}
