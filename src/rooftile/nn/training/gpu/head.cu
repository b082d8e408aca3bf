// A network's last layer, the cross-entropy of its softmax, and the gradient of the layer's input.
//
// As launches of their own, each of the three takes hardly longer than the GPU needs to begin it.
// Here a block makes all of them for one item, whose numbers it keeps in shared memory: a team of
// LANES threads makes a score, every thread reads all scores, and a thread makes elements of dx.
//
// x[images][INPUTS], weights[OUTPUTS][INPUTS], bias[OUTPUTS], labels[images]; loss[images],
// dz[images][OUTPUTS] (of the mean loss, before the softmax), dx[images][INPUTS] (before the
// activation BEFORE, whose value x is).  With SCALED the loss is multiplied by scaling[0].
// Grid: x over the items.  Block: LANES x TEAMS.  The launch may overlap the one before.

#include "common/derivative.h"
#include "common/overlapping.h"

#ifdef __OPENCL_VERSION__
#define logf log
#endif

#define THREADS (LANES * TEAMS)

#if SCALED
#define SCALING_ARGUMENT const GLOBAL float* scaling,
#define SCALE scaling[0]
#else
#define SCALING_ARGUMENT
#define SCALE 1.0f
#endif

__global__ void LAUNCH_BOUNDS(THREADS)
head(const GLOBAL float* x, const GLOBAL float* weights, const GLOBAL float* bias,
     const GLOBAL int* labels, SCALING_ARGUMENT GLOBAL float* __restrict__ loss,
     GLOBAL float* __restrict__ dz, GLOBAL float* __restrict__ dx)
{
    __shared__ float given[INPUTS], joined[TEAMS][LANES];
    __shared__ float score[OUTPUTS], power[OUTPUTS], gradient[OUTPUTS];
    int n = blockIdx.x, lane = threadIdx.x, team = threadIdx.y, thread = team * LANES + lane;
    LET_NEXT_BEGIN();
    AWAIT_EARLIER();
    for (int i = thread; i < INPUTS; i += THREADS) given[i] = x[(int64)n * INPUTS + i];
    __syncthreads();

    for (int first = 0; first < OUTPUTS; first += TEAMS) {
        int o = first + team;
        float sum = 0.0f;
        if (o < OUTPUTS)
            for (int i = lane; i < INPUTS; i += LANES) sum += given[i] * weights[o * INPUTS + i];
        joined[team][lane] = sum;
        for (int reach = LANES / 2; reach > 0; reach /= 2) {
            __syncthreads();
            if (lane < reach) joined[team][lane] += joined[team][lane + reach];
        }
        if (lane == 0 && o < OUTPUTS) score[o] = joined[team][0] + bias[o];
        __syncthreads();
    }

    float largest = -INFINITY, sum = 0.0f;
    for (int o = 0; o < OUTPUTS; o++) largest = maximum(largest, score[o]);
    if (thread < OUTPUTS) power[thread] = expf(score[thread] - largest);
    __syncthreads();
    for (int o = 0; o < OUTPUTS; o++) sum += power[o];
    int label = labels[n];
    if (thread < OUTPUTS) {
        float of_mean = (power[thread] / sum - (thread == label ? 1.0f : 0.0f)) / DIVISOR;
        dz[(int64)n * OUTPUTS + thread] = gradient[thread] = SCALE * of_mean;
    }
    if (thread == 0) loss[n] = logf(sum) - (score[label] - largest);
    __syncthreads();

    for (int i = thread; i < INPUTS; i += THREADS) {
        float change = 0.0f;
        for (int o = 0; o < OUTPUTS; o++) change += gradient[o] * weights[o * INPUTS + i];
        dx[(int64)n * INPUTS + i] = change * derivative(BEFORE, given[i]);
    }
}
