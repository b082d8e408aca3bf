// block_rows: a team of threads makes one row's loss and gradient.
//
// In `naive`, neighbouring threads read a row apart, and few rows leave most of the device idle.
// Here a team of TEAM threads walks along a row, so that neighbours read neighbouring words; what
// its threads have is joined by a tree in shared memory.  What it removes: reads far apart, and the
// wait of a nearly empty device.
//
// y[rows][OUTPUTS]; labels[rows] or, with NUMBERS, wanted[rows][OUTPUTS], which are the same
// memory; loss[rows], dy[rows][OUTPUTS].
// Grid: x over blocks of TEAMS rows.
// Block: x over TEAM (a power of two) threads of a row, y over TEAMS rows.

#include "one_output.h"

__global__ void LAUNCH_BOUNDS(TEAM * TEAMS)
block_rows(const GLOBAL float* __restrict__ y, const GLOBAL int* labels,
           const GLOBAL float* wanted, GLOBAL float* __restrict__ loss,
           GLOBAL float* __restrict__ dy, int rows)
{
    __shared__ float joined[TEAMS][TEAM];
    int lane = threadIdx.x, slot = threadIdx.y, n = blockIdx.x * TEAMS + slot;
    int end = n < rows ? OUTPUTS : 0;
    float sum = 0.0f, share = 1.0f / (float)rows;
    for (int k = lane; k < end; k += TEAM) {
        float value = y[(int64)n * OUTPUTS + k];
        float slope = cost_of(value, labels, wanted, n, k, &sum);
        dy[(int64)n * OUTPUTS + k] = slope * share;
    }
    joined[slot][lane] = sum;
    for (int reach = TEAM / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (lane < reach) joined[slot][lane] += joined[slot][lane + reach];
    }
    if (lane == 0 && n < rows) loss[n] = joined[slot][0];
}
