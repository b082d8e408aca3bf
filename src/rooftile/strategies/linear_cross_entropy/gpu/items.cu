// items: the last layer of a network, the cross-entropy of its softmax, and the gradient of the layer's
// input, of ITEMS items a block.
//
// What it removes: the launches of `naive`, each of which takes hardly longer than the GPU needs to
// begin it.
//
// given[images][INPUTS], weights[OUTPUTS][INPUTS], bias[OUTPUTS], labels[images]; loss[images],
// dz[images][OUTPUTS], change[images][INPUTS] (before the activation BEFORE, whose value `given`
// is).
// Grid: x over the items.  Block: THREADS.  The launch may overlap the one before.

#if OUTPUTS * INPUTS <= MOST_HELD
#define HELD SHARED
#else
#define HELD GLOBAL
#endif
#include "last_layer.h"

__global__ void LAUNCH_BOUNDS(THREADS)
items(const GLOBAL float* given, const GLOBAL float* weights, const GLOBAL float* bias,
      const GLOBAL int* labels, SCALING_ARGUMENT GLOBAL float* __restrict__ change,
      GLOBAL float* __restrict__ loss, GLOBAL float* __restrict__ dz, int images)
{
    __shared__ float joined[SCORES], here[ITEMS * INPUTS], biases[OUTPUTS];
    __shared__ float score[ITEMS * OUTPUTS], gradient[ITEMS * OUTPUTS];
    __shared__ int label[ITEMS];
    int first = blockIdx.x * ITEMS, thread = threadIdx.x;
    int64 begin = (int64)first * INPUTS, end = (int64)images * INPUTS;
    GRIDDEPCONTROL_WAIT_UNSETTLED();
    read_parameters(bias, biases, OUTPUTS, thread);
#if OUTPUTS * INPUTS <= MOST_HELD
    __shared__ float held[OUTPUTS * INPUTS];
    read_parameters(weights, held, OUTPUTS * INPUTS, thread);
#else
    const GLOBAL float* held = weights;
#endif
    GRIDDEPCONTROL_WAIT_SETTLED();
    read_labels(labels, label, first, images, thread);
    for (int k = thread; k < ITEMS * INPUTS; k += THREADS)
        here[k] = begin + k < end ? given[begin + k] : 0.0f;
    __syncthreads();
    make_scores(here, held, biases, joined, score, thread);
    make_losses(score, label, SCALE, loss, dz, gradient, first, images, thread);
    for (int k = thread; k < ITEMS * INPUTS; k += THREADS)
        if (begin + k < end) change[begin + k] = change_of(k, here, held, gradient);
}
