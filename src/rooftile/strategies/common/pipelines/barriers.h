// Barriers in shared memory (PTX `mbarrier`), by address.  CUDA only, from sm_90 on.

#pragma once

typedef unsigned long long word;

// Sets up a barrier whose phase ends after `count` arrivals.
__device__ __forceinline__ void barrier_init(unsigned arrivals, unsigned barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

// Makes barriers that this thread has set up known to the copy engine.
__device__ __forceinline__ void fence_barrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives, and has the phase wait for bytes of the copy engine too.
__device__ __forceinline__ void arrive_and_expect_tx(unsigned bytes, unsigned barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void barrier_arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Waits until the phase of this parity has ended.
__device__ __forceinline__ void barrier_wait(unsigned barrier, int parity)
{
    unsigned passed = 0;
    while (!passed)
        asm volatile("{ .reg .pred p; "
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(passed)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}
