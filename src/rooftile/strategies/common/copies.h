// Copies to shared memory that go on while a block computes: a pipeline of STAGES stages.  CUDA only,
// from compute capability 8.0 on.

#pragma once

#include "common/narrow.h"

// Starts a copy to a place of `size` bytes: the first `bytes` come from memory, the others are
// zeros.
__device__ __forceinline__ void bring(char* to, const void* from, int size, int bytes)
{
    unsigned place = (unsigned)__cvta_generic_to_shared(to);
    if (size == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from),
                     "r"(bytes)
                     : "memory");
    else if (size == 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place), "l"(from),
                     "r"(bytes)
                     : "memory");
    else
        *(narrow*)to = bytes ? *(const narrow*)from : (narrow)0;
}

// The copies started since the last call are a group, and a stage's.
__device__ __forceinline__ void end_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits for the oldest stage's copies; the stage before it has been read.
__device__ __forceinline__ void await_stage()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();
}
