// The number of kept elements of a block before a thread's own, of BLOCK (a power of two) elements.

#pragma once

// `held[BLOCK]` is for this alone; afterwards its last place says how many the whole block keeps.
__device__ __forceinline__ int rank_in_block(int keeps, SHARED int* held)
{
    int thread = threadIdx.x;
    // A second call waits until all have read the last place.
    __syncthreads();
    held[thread] = keeps;
    for (int reach = 1; reach < BLOCK; reach *= 2) {
        __syncthreads();
        int other = thread >= reach ? held[thread - reach] : 0;
        __syncthreads();
        held[thread] += other;
    }
    __syncthreads();
    return held[thread] - keeps;
}
