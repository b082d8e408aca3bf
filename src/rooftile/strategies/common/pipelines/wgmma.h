// Products of Hopper's warpgroups (sm_90a): how matrices lie in shared memory, and the order of
// things.  The products themselves are macros of the text, since their operands are as many as a
// tile has sums.

#pragma once

#include "common/pipelines/tma.h"

// The descriptor of rows of 128 bytes, swizzled; `pitch` bytes lead from eight rows to the next
// eight.
__device__ __forceinline__ word swizzled_descriptor(unsigned address, unsigned pitch)
{
    return (word)(address >> 4) | (word)1 << 16 | (word)(pitch >> 4) << 32 | (word)1 << 62;
}

// The descriptor of a matrix whose rows of 128 bytes, swizzled, are terms: eight terms follow each
// other, `below` bytes lead to the next eight, and `beside` bytes to the next 128 of each row.
__device__ __forceinline__ word transposed_descriptor(unsigned address, unsigned beside, unsigned below)
{
    return (word)(address >> 4) | (word)(beside >> 4) << 16 | (word)(below >> 4) << 32 |
           (word)1 << 62;
}

// The descriptor of pieces of 8 rows of 16 bytes, without a swizzle. They are stored below each
// other, and `apart` bytes lead to the next piece of the rows. (As a function it would be compiled
// to other instructions.)
#define PLAIN_DESCRIPTOR(address, apart)                                                               \
    ((address) >> 4 | (word)((apart) >> 4) << 16 | (word)(128 >> 4) << 32)

// A warp has 16 rows of a product.  A lane's sum `e` is of row lane / 4 + ROW_OF(e) and of column
// lane % 4 * 2 + COLUMN_OF(e): of every eight columns two, in two rows.  (As functions they would
// be compiled to other instructions.)
#define ROW_OF(e) ((e) / 2 % 2 * 8)
#define COLUMN_OF(e) ((e) / 4 * 8 + (e) % 2)

// Comes before products that read registers which were written since the last products.
__device__ __forceinline__ void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// The products since the last call become a set, and WGMMA_WAIT counts sets.
__device__ __forceinline__ void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits for all sets of products but the last few.
#define WGMMA_WAIT(count) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(count) : "memory")

// Releases registers, or takes released ones, so that a thread of the warpgroup has `count`.
#define SETMAXNREG_DEC(count) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count))
#define SETMAXNREG_INC(count) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count))
