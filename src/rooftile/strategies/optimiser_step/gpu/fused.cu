// fused: one pass, in which a thread changes a parameter and its memories.
//
// What it removes: of `naive` the passes of their own, each of which reads gradients or memories again.
//
// With SCALED, the loss was multiplied by scaling[0], and so are all gradients.  Where one of them
// overflowed nothing is changed, and the next step's scale is half as large; it is doubled again after
// GROWTH steps without.
//
// parameters, gradients, memories and what is new of them: [size].  The first DECAYED parameters
// decay.  rates[][4]: of each step the learning rate (of Adam divided by what frees the mean of bias),
// what weight decay leaves, the root of what frees the mean square of bias, and the epoch; step[1]
// has one more than the step's number.  flags[FLAGS]; state[2]: whether a gradient overflowed, and the
// present scale.  A new array may be the old one.
// Grid: x over the parameters.

#include "common/pipelines/pdl.h"

#if SCALED
#define ONE_BLOCK 256
#define STATE_ARGUMENT const GLOBAL float *state,
#define GRADIENT(i) (gradients[i] / state[1])
#define OVERFLOWED (state[0] != 0.0f)

// True if a gradient of the block's is not finite. Grid: x over FLAGS blocks.
__global__ void LAUNCH_BOUNDS(BLOCK)
fused_look(const GLOBAL float* gradients, GLOBAL float* __restrict__ flags, int size)
{
    __shared__ int overflowed;
    if (threadIdx.x == 0) overflowed = 0;
    __syncthreads();
    GRIDDEPCONTROL_WAIT();
    for (int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x; i < size; i += (int64)FLAGS * BLOCK)
        if (!(fabsf(gradients[i]) < INFINITY)) overflowed = 1;
    __syncthreads();
    if (threadIdx.x == 0) flags[blockIdx.x] = overflowed ? 1.0f : 0.0f;
}

// The next step's scale.  One block.
__global__ void LAUNCH_BOUNDS(ONE_BLOCK)
fused_rescale(const GLOBAL float* flags, const GLOBAL float* scaling, GLOBAL float* new_scaling,
              GLOBAL float* __restrict__ state)
{
    __shared__ int overflowed;
    if (threadIdx.x == 0) overflowed = 0;
    __syncthreads();
    GRIDDEPCONTROL_WAIT();
    for (int k = threadIdx.x; k < FLAGS; k += ONE_BLOCK)
        if (flags[k] != 0.0f) overflowed = 1;
    __syncthreads();
    if (threadIdx.x > 0) return;
    float scale = scaling[0], counted = scaling[1] + 1.0f;
    state[0] = overflowed ? 1.0f : 0.0f, state[1] = scale;
    if (overflowed) {
        scale *= 0.5f, counted = 0.0f;
    } else if (counted == GROWTH) {
        scale *= scale < MOST_SCALE ? 2.0f : 1.0f, counted = 0.0f;
    }
    new_scaling[0] = scale, new_scaling[1] = counted;
}
#else
#define STATE_ARGUMENT
#define GRADIENT(i) gradients[i]
#define OVERFLOWED 0
#endif

#if ADAM
// mean and square move towards the gradient and its square; parameters by their ratio.
__global__ void fused_step(const GLOBAL float* gradients, const GLOBAL float* parameters,
                           const GLOBAL float* mean, const GLOBAL float* square,
                           GLOBAL float* new_parameters, GLOBAL float* new_mean,
                           GLOBAL float* new_square, const GLOBAL float* rates,
                           const GLOBAL int* step, STATE_ARGUMENT int size)
{
    GRIDDEPCONTROL_WAIT();
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= size) return;
    float own = parameters[i], first = mean[i], second = square[i];
    if (OVERFLOWED) {
        new_parameters[i] = own, new_mean[i] = first, new_square[i] = second;
        return;
    }
    const GLOBAL float* rate = rates + 4 * (step[0] - 1);
    float kept = i < DECAYED ? rate[1] : 1.0f, gradient = GRADIENT(i);
    first = first + MEAN_SHARE * (gradient - first);
    second = second + SQUARE_SHARE * (gradient * gradient - second);
    new_mean[i] = first, new_square[i] = second;
    new_parameters[i] = kept * own - rate[0] * first / (sqrtf(second) / rate[2] + EPSILON);
}
#else
// velocity = MOMENTUM velocity + gradient; parameter = kept parameter - rate velocity.
__global__ void fused_step(const GLOBAL float* gradients, const GLOBAL float* parameters,
                           const GLOBAL float* velocity, GLOBAL float* new_parameters,
                           GLOBAL float* new_velocity, const GLOBAL float* rates,
                           const GLOBAL int* step, STATE_ARGUMENT int size)
{
    GRIDDEPCONTROL_WAIT();
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= size) return;
    float own = parameters[i], moved = velocity[i];
    if (OVERFLOWED) {
        new_parameters[i] = own, new_velocity[i] = moved;
        return;
    }
    const GLOBAL float* rate = rates + 4 * (step[0] - 1);
    float kept = i < DECAYED ? rate[1] : 1.0f;
    moved = MOMENTUM * moved + GRADIENT(i);
    new_velocity[i] = moved;
    new_parameters[i] = kept * own - rate[0] * moved;
}
#endif
