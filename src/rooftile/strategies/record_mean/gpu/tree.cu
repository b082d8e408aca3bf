// tree: the threads of a block add values and join their sums; the mean becomes new_record[step], and
// the step is counted.
//
// What it removes: the wait of `naive` for each value, of which here THREADS are under way.
//
// values[size], record[steps], step[1], new_record[steps], new_step[1]; a new array may be
// the old one.  One block of THREADS, a power of two.

#include "common/pipelines/pdl.h"
#include "record.h"

__global__ void LAUNCH_BOUNDS(THREADS)
tree(const GLOBAL float* values, const GLOBAL float* record, const GLOBAL int* step,
     GLOBAL float* new_record, GLOBAL int* new_step, int size, int steps)
{
    __shared__ float joined[THREADS];
    GRIDDEPCONTROL_WAIT();
    float sum = 0.0f;
    for (int n = threadIdx.x; n < size; n += THREADS) sum += values[n];
    joined[threadIdx.x] = sum;
    // Read by all threads before one of them writes the next one to the same place.
    int at = step[0];
    for (int reach = THREADS / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (threadIdx.x < reach) joined[threadIdx.x] += joined[threadIdx.x + reach];
    }
    keep(record, new_record, at, threadIdx.x, THREADS, steps);
    if (threadIdx.x == 0) {
        new_record[at] = joined[0] / (float)size;
        new_step[0] = at + 1;
    }
}
