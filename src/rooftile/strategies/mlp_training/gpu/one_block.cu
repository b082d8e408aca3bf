// one_block: one block takes all steps of all epochs, a thread a neuron.
//
// A step waits for the one before, so other blocks would have nothing to do.  The weights stay in
// shared memory from the first step to the last; the threads meet behind each layer.
//
// x[rows][features], targets[rows][outputs], order[epochs][rows], rates[epochs], weights[WEIGHTS],
// trained[WEIGHTS], losses[epochs]; a layer's weights are [neurons][inputs + 1], the bias last.
// SIZES are the features and each layer's neurons, NAMES the activations: codes of activations.h, or
// SOFTMAX; USED has a bit for each code.
// Grid: one block.
// Block: x over neurons.

#include "common/activations.h"

#define SOFTMAX (-1)

__global__ void one_block(const GLOBAL float* x, const GLOBAL float* targets,
                          const GLOBAL int* order, const GLOBAL float* rates,
                          const GLOBAL float* weights, GLOBAL float* trained,
                          GLOBAL float* losses, int epochs, int rows)
{
    const int sizes[LAYERS + 1] = {SIZES};
    const int names[LAYERS] = {NAMES};
    __shared__ float w[WEIGHTS];
    // The row and each layer's values; what is before an activation; the gradients there.
    __shared__ float a[VALUES];
    __shared__ float z[VALUES];
    __shared__ float d[VALUES];
    for (int i = threadIdx.x; i < WEIGHTS; i += BLOCK) w[i] = weights[i];
    for (int epoch = 0; epoch < epochs; epoch++) {
        float total = 0.0f;
        for (int s = 0; s < rows; s++) {
            int row = order[epoch * (int64)rows + s];
            for (int i = threadIdx.x; i < sizes[0]; i += BLOCK) a[i] = x[row * (int64)sizes[0] + i];
            __syncthreads();
            int at = 0, first = 0;
            UNROLL for (int k = 0; k < LAYERS; k++) {
                int inputs = sizes[k], neurons = sizes[k + 1], behind = at + inputs;
                for (int j = threadIdx.x; j < neurons; j += BLOCK) {
                    int own = first + j * (inputs + 1);
                    float sum = w[own + inputs];
                    for (int i = 0; i < inputs; i++) sum += w[own + i] * a[at + i];
                    z[behind + j] = sum;
                    if (names[k] != SOFTMAX) a[behind + j] = activated(names[k], sum);
                }
                __syncthreads();
                if (names[k] == SOFTMAX) {
                    float most = z[behind], sum = 0.0f;
                    for (int j = 1; j < neurons; j++) most = maximum(most, z[behind + j]);
                    for (int j = 0; j < neurons; j++) sum += expf(z[behind + j] - most);
                    for (int j = threadIdx.x; j < neurons; j += BLOCK)
                        a[behind + j] = expf(z[behind + j] - most) / sum;
                    __syncthreads();
                }
                at = behind;
                first += neurons * (inputs + 1);
            }
            const int outputs = sizes[LAYERS];
            for (int j = threadIdx.x; j < outputs; j += BLOCK)
                d[at + j] = a[at + j] - targets[row * (int64)outputs + j];
            __syncthreads();
            // Every thread sums the loss, and the first one will write it.
            for (int j = 0; j < outputs; j++) total += 0.5f * d[at + j] * d[at + j];
            UNROLL for (int k = LAYERS - 1; k >= 0; k--) {
                int inputs = sizes[k], neurons = sizes[k + 1], before = at - inputs;
                first -= neurons * (inputs + 1);
                float both = 0.0f;
                if (names[k] == SOFTMAX)
                    for (int j = 0; j < neurons; j++) both += d[at + j] * a[at + j];
                __syncthreads();
                for (int j = threadIdx.x; j < neurons; j += BLOCK)
                    d[at + j] = names[k] == SOFTMAX
                                    ? a[at + j] * (d[at + j] - both)
                                    : d[at + j] * derivative(names[k], NEEDS_INPUT(names[k]) ? z[at + j] : a[at + j]);
                __syncthreads();
                if (k > 0) {
                    for (int i = threadIdx.x; i < inputs; i += BLOCK) {
                        float sum = 0.0f;
                        for (int j = 0; j < neurons; j++)
                            sum += w[first + j * (inputs + 1) + i] * d[at + j];
                        d[before + i] = sum;
                    }
                }
                __syncthreads();
                for (int e = threadIdx.x; e < neurons * (inputs + 1); e += BLOCK) {
                    int j = e / (inputs + 1), i = e % (inputs + 1);
                    float move = rates[epoch] * d[at + j];
                    w[first + e] -= i < inputs ? move * a[before + i] : move;
                }
                at = before;
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) losses[epoch] = total / (float)rows;
    }
    for (int i = threadIdx.x; i < WEIGHTS; i += BLOCK) trained[i] = w[i];
}
