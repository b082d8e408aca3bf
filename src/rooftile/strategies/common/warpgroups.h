// Products of Hopper's warpgroups (sm_90a): how matrices lie in shared memory, and the order of
// things.  The products themselves are macros of the text, since their operands are as many as a
// tile has sums.

#pragma once

#include "common/barriers.h"

// Rows of 128 bytes, swizzled; `pitch` bytes from eight rows to the next eight.
__device__ __forceinline__ word matrix(unsigned address, unsigned pitch)
{
    return (word)(address >> 4) | (word)1 << 16 | (word)(pitch >> 4) << 32 | (word)1 << 62;
}

// 8 rows of 16 bytes without a swizzle, such pieces below each other; `apart` bytes to the one
// beside them.  (As a function it would be compiled to other instructions.)
#define PIECES_AT(address, apart)                                                               \
    ((address) >> 4 | (word)((apart) >> 4) << 16 | (word)(128 >> 4) << 32)

// What threads have written to shared memory is there for products and the copy engine.
__device__ __forceinline__ void shared_ready()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Before products that read registers written since the last ones.
__device__ __forceinline__ void begin_products()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Those since the last call are a set, which IN_FLIGHT counts.
__device__ __forceinline__ void end_products()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits for all sets of products but the last few.
#define IN_FLIGHT(count) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(count) : "memory")

// Gives up registers, or takes what others gave up, so that a thread of the warpgroup has so many.
#define FEWER_REGISTERS(count) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count))
#define MORE_REGISTERS(count) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count))
