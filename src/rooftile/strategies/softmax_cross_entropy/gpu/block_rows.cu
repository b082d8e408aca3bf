// block_rows: a team of threads makes one row's loss and gradient.
//
// In `naive`, neighbouring threads read a row apart, and few rows leave most of the device idle.
// Here a team of TEAM threads walks along a row, so that neighbours read neighbouring words; the
// largest score and the sum are joined by a tree in shared memory.  What it removes: reads far
// apart, and the wait of a nearly empty device.
//
// x[images][CLASSES], labels[images], weights[CLASSES] where WEIGHTED, loss[images],
// dx[images][CLASSES].
// Grid: x over blocks of TEAMS rows.
// Block: x over TEAM (a power of two) threads of a row, y over TEAMS rows.

#include "label.h"

#ifdef __OPENCL_VERSION__
#define logf log
#endif

__global__ void LAUNCH_BOUNDS(TEAM * TEAMS)
block_rows(const GLOBAL float* __restrict__ x, const GLOBAL int* __restrict__ labels,
           const GLOBAL float* weights, GLOBAL float* __restrict__ loss,
           GLOBAL float* __restrict__ dx, int images)
{
    __shared__ float joined[TEAMS][TEAM];
    int lane = threadIdx.x, slot = threadIdx.y;
    int64 row = (int64)blockIdx.x * TEAMS + slot;
    // Rows beyond the last repeat the last, and are not written.
    int64 read = row < images ? row : images - 1;
    const GLOBAL float* given = x + read * CLASSES;

    float value = -INFINITY;
    for (int k = lane; k < CLASSES; k += TEAM) value = maximum(value, given[k]);
    joined[slot][lane] = value;
    for (int reach = TEAM / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (lane < reach)
            joined[slot][lane] = maximum(joined[slot][lane], joined[slot][lane + reach]);
    }
    __syncthreads();
    float largest = joined[slot][0];
    // The sums overwrite what all threads have read.
    __syncthreads();

    float sum = 0.0f;
    for (int k = lane; k < CLASSES; k += TEAM) sum += expf(given[k] - largest);
    joined[slot][lane] = sum;
    for (int reach = TEAM / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (lane < reach) joined[slot][lane] += joined[slot][lane + reach];
    }
    __syncthreads();
    sum = joined[slot][0];

    int label = labels[read], end = row < images ? CLASSES : 0;
    bool counted = counts(label);
    float factor = counted ? factor_of(weights, label) : 0.0f;
    for (int k = lane; k < end; k += TEAM) {
        float slope = expf(given[k] - largest) / sum - (k == label ? 1.0f : 0.0f);
        dx[row * CLASSES + k] = counted ? slope * factor / DIVISOR : 0.0f;
    }
    if (lane == 0 && row < images)
        loss[row] = counted ? (logf(sum) - (given[label] - largest)) * factor : 0.0f;
}
