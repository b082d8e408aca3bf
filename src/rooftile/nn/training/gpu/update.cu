// What ends a step: its mean loss is noted, and the optimiser changes all parameters at once.
//
// All parameters lie in one array, and so do their gradients and each memory of the optimiser;
// between two of them are zeros, which stay zeros.  The first DECAYED elements decay, the biases
// behind them do not.
//
// rates[][4]: of each step of the epoch the learning rate (of Adam divided by what frees the mean of
// bias), what weight decay leaves, the root of what frees the mean square of bias, and nothing.

// velocity = MOMENTUM velocity + gradient; parameter = kept parameter - rate velocity.
// Grid: x over the elements.
__global__ void sgd(GLOBAL float* __restrict__ parameters, const GLOBAL float* __restrict__ gradients,
                    GLOBAL float* __restrict__ velocity, const GLOBAL float* __restrict__ rates,
                    const GLOBAL int* __restrict__ step, int count)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= count) return;
    const GLOBAL float* rate = rates + 4 * step[0];
    float kept = i < DECAYED ? rate[1] : 1.0f, moved = MOMENTUM * velocity[i] + gradients[i];
    velocity[i] = moved;
    parameters[i] = kept * parameters[i] - rate[0] * moved;
}

// mean and square move towards the gradient and its square; parameters by their ratio.
__global__ void adam(GLOBAL float* __restrict__ parameters,
                     const GLOBAL float* __restrict__ gradients, GLOBAL float* __restrict__ mean,
                     GLOBAL float* __restrict__ square, const GLOBAL float* __restrict__ rates,
                     const GLOBAL int* __restrict__ step, int count)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= count) return;
    const GLOBAL float* rate = rates + 4 * step[0];
    float kept = i < DECAYED ? rate[1] : 1.0f, gradient = gradients[i];
    float first = mean[i] + MEAN_SHARE * (gradient - mean[i]);
    float second = square[i] + SQUARE_SHARE * (gradient * gradient - square[i]);
    mean[i] = first, square[i] = second;
    parameters[i] = kept * parameters[i] - rate[0] * first / (sqrtf(second) / rate[2] + EPSILON);
}

// The mean of loss[count] becomes losses[step], and the step is counted.  One block of 256.
__global__ void LAUNCH_BOUNDS(256)
note(const GLOBAL float* __restrict__ loss, GLOBAL float* __restrict__ losses,
     GLOBAL int* __restrict__ step, int count)
{
    __shared__ float joined[256];
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
