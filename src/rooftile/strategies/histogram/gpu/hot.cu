// hot: the popular bins in shared memory, whichever they are.
//
// `partial` helps where the first bins are the popular ones.  Here a sample is counted first, and
// each bin that took a share of it gets a place in shared memory, which a table says.  Blocks begin
// to add up their places at different ones, so that they do not meet.  What it removes: atomics of
// global memory for popular bins.
//
// x[count], counts[bins]; seen[bins] counts the sample, places[bins] says a bin's place or -1, and
// owners[HOT] a place's bin or -1; used[1] counts places.
// Grid: x over persistent blocks; for `choose`, over CLEAR_THREADS bins.
// Block: x over BLOCK threads.

#define FAMILY hot
#include "bins.h"

#ifdef __OPENCL_VERSION__
#define ADD_INT(address, value) atomic_add((volatile __global int*)(address), value)
#else
#define ADD_INT(address, value) atomicAdd(address, value)
#endif

// Grid: x over CLEAR_THREADS bins and places.
__global__ void hot_clear_sample(GLOBAL int* seen, GLOBAL int* owners, GLOBAL int* used, int bins)
{
    int i = blockIdx.x * CLEAR_THREADS + threadIdx.x;
    if (i < bins) seen[i] = 0;
    if (i < HOT) owners[i] = -1;
    if (i == 0) used[0] = 0;
}

// SAMPLE elements, spread over all.
__global__ void hot_sample(const GLOBAL given* __restrict__ x, GLOBAL int* seen, int64 count,
                           RULE_PARAMETERS)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= SAMPLE || i >= count) return;
    int64 gap = count > SAMPLE ? count / SAMPLE : 1;
    int bin = BIN(x[i * gap]);
    if (bin >= 0) ADD_INT(seen + bin, 1);
}

__global__ void hot_choose(const GLOBAL int* seen, GLOBAL int* places, GLOBAL int* owners,
                           GLOBAL int* used, int bins)
{
    int bin = blockIdx.x * CLEAR_THREADS + threadIdx.x;
    if (bin >= bins) return;
    int place = seen[bin] * HOT > SAMPLE / 2 ? ADD_INT(used, 1) : HOT;
    places[bin] = place < HOT ? place : -1;
    if (place < HOT) owners[place] = bin;
}

__global__ void hot(const GLOBAL given* __restrict__ x, WEIGHTS GLOBAL number* counts,
                    const GLOBAL int* __restrict__ places, const GLOBAL int* __restrict__ owners,
                    int64 count, RULE_PARAMETERS)
{
    __shared__ own mine[HOT];
    for (int place = threadIdx.x; place < HOT; place += BLOCK) mine[place] = 0;
    __syncthreads();
    int64 stride = (int64)gridDim.x * BLOCK;
    for (int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x; i < count; i += stride) {
        int bin = BIN(x[i]);
        if (bin < 0) continue;
        int place = places[bin];
        if (place < 0) GROW(counts, bin, WEIGHT(i));
        else GROW_SHARED(mine, place, WEIGHT(i));
    }
    __syncthreads();
    for (int j = threadIdx.x; j < HOT; j += BLOCK) {
        int place = (j + blockIdx.x * 32) % HOT;
        if (owners[place] >= 0) GROW(counts, owners[place], mine[place]);
    }
}
