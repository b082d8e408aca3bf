// What ends a step: its mean loss is noted, and the optimiser changes all parameters at once.
//
// All parameters lie in one array, and so do their gradients and each memory of the optimiser;
// between two of them are zeros, which stay zeros.  The first DECAYED elements decay, the biases
// behind them do not.
//
// With SCALED, the loss was multiplied by scaling[0], and so are all gradients.  Where one of them
// overflowed nothing is changed, and the next step's scale is half as large; it is doubled again after
// GROWTH steps without.
//
// rates[][4]: of each step of the epoch the learning rate (of Adam divided by what frees the mean of
// bias), what weight decay leaves, the root of what frees the mean square of bias, and the epoch.
// Parameters change behind `note`, which has counted the step.

#include "common/pipelines/pdl.h"

#if SCALED
#define GROWTH 2000.0f
#define MOST_SCALE 16777216.0f
#define SCALING_ARGUMENTS GLOBAL float* __restrict__ scaling, GLOBAL int* __restrict__ overflowed,
#define GRADIENT(i) (gradients[i] / scaling[0])

// The gradient of the loss, scaled.  Grid: x over its elements.
__global__ void scale(GLOBAL float* __restrict__ dz, const GLOBAL float* scaling, int count)
{
    GRIDDEPCONTROL_WAIT();
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < count) dz[i] *= scaling[0];
}

// Whether a gradient is not finite.  Grid: x over the elements.
__global__ void look(const GLOBAL float* gradients, GLOBAL int* __restrict__ overflowed, int count)
{
    GRIDDEPCONTROL_WAIT();
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < count && !(fabsf(gradients[i]) < INFINITY)) overflowed[0] = 1;
}

// The next step's scale.  One thread.
__global__ void rescale(GLOBAL float* __restrict__ scaling, GLOBAL int* __restrict__ overflowed)
{
    GRIDDEPCONTROL_WAIT();
    scaling[1] += 1.0f;
    if (overflowed[0]) {
        scaling[0] *= 0.5f, scaling[1] = 0.0f;
    } else if (scaling[1] == GROWTH) {
        scaling[0] *= scaling[0] < MOST_SCALE ? 2.0f : 1.0f, scaling[1] = 0.0f;
    }
    overflowed[0] = 0;
}
#define OVERFLOWED overflowed[0]
#else
#define SCALING_ARGUMENTS
#define GRADIENT(i) gradients[i]
#define OVERFLOWED 0
#endif

// velocity = MOMENTUM velocity + gradient; parameter = kept parameter - rate velocity.
// Grid: x over the elements.
__global__ void sgd(GLOBAL float* __restrict__ parameters, const GLOBAL float* gradients,
                    GLOBAL float* __restrict__ velocity, const GLOBAL float* rates,
                    const GLOBAL int* step, SCALING_ARGUMENTS int count)
{
    GRIDDEPCONTROL_WAIT();
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= count || OVERFLOWED) return;
    const GLOBAL float* rate = rates + 4 * (step[0] - 1);
    float kept = i < DECAYED ? rate[1] : 1.0f, moved = MOMENTUM * velocity[i] + GRADIENT(i);
    velocity[i] = moved;
    parameters[i] = kept * parameters[i] - rate[0] * moved;
}

// mean and square move towards the gradient and its square; parameters by their ratio.
__global__ void adam(GLOBAL float* __restrict__ parameters, const GLOBAL float* gradients,
                     GLOBAL float* __restrict__ mean, GLOBAL float* __restrict__ square,
                     const GLOBAL float* rates, const GLOBAL int* step, SCALING_ARGUMENTS int count)
{
    GRIDDEPCONTROL_WAIT();
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= count || OVERFLOWED) return;
    const GLOBAL float* rate = rates + 4 * (step[0] - 1);
    float kept = i < DECAYED ? rate[1] : 1.0f, gradient = GRADIENT(i);
    float first = mean[i] + MEAN_SHARE * (gradient - mean[i]);
    float second = square[i] + SQUARE_SHARE * (gradient * gradient - square[i]);
    mean[i] = first, square[i] = second;
    parameters[i] = kept * parameters[i] - rate[0] * first / (sqrtf(second) / rate[2] + EPSILON);
}

// The mean of loss[count] becomes losses[step], and the step is counted.  One block of 256.
__global__ void LAUNCH_BOUNDS(256)
note(const GLOBAL float* loss, GLOBAL float* __restrict__ losses,
     GLOBAL int* __restrict__ step, int count)
{
    __shared__ float joined[256];
    GRIDDEPCONTROL_WAIT();
    float sum = 0.0f;
    for (int n = threadIdx.x; n < count; n += 256) sum += loss[n];
    joined[threadIdx.x] = sum;
    for (int reach = 128; reach > 0; reach /= 2) {
        __syncthreads();
        if (threadIdx.x < reach) joined[threadIdx.x] += joined[threadIdx.x + reach];
    }
    if (threadIdx.x == 0) {
        losses[step[0]] = joined[0] / (float)count;
        step[0] += 1;
    }
}
