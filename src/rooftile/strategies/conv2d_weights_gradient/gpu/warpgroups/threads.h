// The threads of a block.

#pragma once

#define WARPS 8
// Threads that store, before as many that multiply.
#define THREADS (32 * WARPS)
#define ALL_THREADS (2 * THREADS)
// The warpgroup of those that lay, or of those that multiply.
#define WARPGROUP ((int)threadIdx.x / 128 % 2)

// The thread's number.  Compilers do not know that it stays the same: they would keep all that follows from
// it in registers from image to image.
__device__ __forceinline__ int thread_anew(void)
{
    int thread = threadIdx.x;
    asm volatile("" : "+r"(thread));
    return thread;
}
