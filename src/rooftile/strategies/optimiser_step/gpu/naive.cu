// naive: a pass for each memory of the optimiser, then one for the parameters.
//
// parameters, gradients, memories and what is new of them: [size].  The first DECAYED parameters
// decay.  rates[][4]: of each step the learning rate (of Adam divided by what frees the mean of bias),
// what weight decay leaves, the root of what frees the mean square of bias, and the epoch; step[1]
// has one more than the step's number.  A new array may be the old one.
// Grid: x over the parameters.

#include "common/pipelines/pdl.h"

#define OWN (blockIdx.x * BLOCK + threadIdx.x)

#if ADAM
__global__ void naive_mean(const GLOBAL float* gradients, const GLOBAL float* mean,
                           GLOBAL float* new_mean, int size)
{
    GRIDDEPCONTROL_WAIT();
    int i = OWN;
    if (i < size) new_mean[i] = mean[i] + MEAN_SHARE * (gradients[i] - mean[i]);
}

__global__ void naive_square(const GLOBAL float* gradients, const GLOBAL float* square,
                             GLOBAL float* new_square, int size)
{
    GRIDDEPCONTROL_WAIT();
    int i = OWN;
    if (i >= size) return;
    float gradient = gradients[i];
    new_square[i] = square[i] + SQUARE_SHARE * (gradient * gradient - square[i]);
}

__global__ void naive_parameters(const GLOBAL float* parameters, const GLOBAL float* mean,
                                 const GLOBAL float* square, const GLOBAL float* rates,
                                 const GLOBAL int* step, GLOBAL float* new_parameters, int size)
{
    GRIDDEPCONTROL_WAIT();
    int i = OWN;
    if (i >= size) return;
    const GLOBAL float* rate = rates + 4 * (step[0] - 1);
    float kept = i < DECAYED ? rate[1] : 1.0f, below = sqrtf(square[i]) / rate[2] + EPSILON;
    new_parameters[i] = kept * parameters[i] - rate[0] * mean[i] / below;
}
#else
__global__ void naive_velocity(const GLOBAL float* gradients, const GLOBAL float* velocity,
                               GLOBAL float* new_velocity, int size)
{
    GRIDDEPCONTROL_WAIT();
    int i = OWN;
    if (i < size) new_velocity[i] = MOMENTUM * velocity[i] + gradients[i];
}

__global__ void naive_parameters(const GLOBAL float* parameters, const GLOBAL float* velocity,
                                 const GLOBAL float* rates, const GLOBAL int* step,
                                 GLOBAL float* new_parameters, int size)
{
    GRIDDEPCONTROL_WAIT();
    int i = OWN;
    if (i >= size) return;
    const GLOBAL float* rate = rates + 4 * (step[0] - 1);
    float kept = i < DECAYED ? rate[1] : 1.0f;
    new_parameters[i] = kept * parameters[i] - rate[0] * velocity[i];
}
#endif
