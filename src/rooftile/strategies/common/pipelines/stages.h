// A pipeline: a ring of stages in shared memory between producers, who fill them, and consumers, who
// empty them.  Of each stage one barrier says that it is full, and one that it is empty.  CUDA only, from
// sm_90 on.

#pragma once

#include "common/pipelines/barriers.h"

// A stage of the ring, and the parity of how often the ring has gone round.
struct pipeline_state { int stage, phase; };

__device__ __forceinline__ void advance(struct pipeline_state* pipe, int stages)
{
    if (++pipe->stage == stages) pipe->stage = 0, pipe->phase ^= 1;
}

// The state when `count` stages have been passed.
__device__ __forceinline__ struct pipeline_state state_after(int count, int stages)
{
    struct pipeline_state pipe = {count % stages, count / stages & 1};
    return pipe;
}

// The barriers of all stages: first those that say full, then those that say empty.
#define FULL_BARRIER(barriers, stage) ((barriers) + 8 * (stage))
#define EMPTY_BARRIER(barriers, stage, stages) ((barriers) + 8 * ((stages) + (stage)))

// One thread sets up the barriers of a pipeline: how many producers and consumers arrive at a stage's.
__device__ __forceinline__ void init_stages(unsigned barriers, int stages, int producers,
                                            int consumers)
{
    for (int stage = 0; stage < stages; stage++) {
        barrier_init(producers, FULL_BARRIER(barriers, stage));
        barrier_init(consumers, EMPTY_BARRIER(barriers, stage, stages));
    }
}

// A producer waits until its stage is empty.
__device__ __forceinline__ void producer_acquire(unsigned barriers, struct pipeline_state pipe,
                                                 int stages)
{
    barrier_wait(EMPTY_BARRIER(barriers, pipe.stage, stages), pipe.phase ^ 1);
}

// The same of a thread that fills its stage by TMA with `bytes` bytes. Returns the barrier at which
// the copies arrive.
__device__ __forceinline__ unsigned producer_acquire_tx(unsigned barriers,
                                                        struct pipeline_state pipe, int stages,
                                                        unsigned bytes)
{
    unsigned full = FULL_BARRIER(barriers, pipe.stage);
    producer_acquire(barriers, pipe, stages);
    arrive_and_expect_tx(bytes, full);
    return full;
}

// A consumer waits until its stage is full.
__device__ __forceinline__ void consumer_wait(unsigned barriers, struct pipeline_state pipe)
{
    barrier_wait(FULL_BARRIER(barriers, pipe.stage), pipe.phase);
}

// A warp says that a stage is empty, by that one's barrier, unless it has said so before.
__device__ __forceinline__ void consumer_release(unsigned* barrier)
{
    if (*barrier && threadIdx.x % 32 == 0) barrier_arrive(*barrier);
    *barrier = 0;
}
