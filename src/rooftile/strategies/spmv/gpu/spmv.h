// Common parts of spmv's kernels: numbers (`common/operator.h`, whose operator is the sum),
// indices, and the update of y.
//
// INDEX is the type of indices and offsets. UPDATED: y is alpha A x + beta start, whose arrays come
// as UPDATE_ARGUMENTS after the others of each kernel that finishes rows. COUNT is INDEX without a
// sign. Of formats with padding only entries that are not 0 are multiplied: x may be infinite where
// padding points to.

#pragma once
#include "common/operator.h"

#if UPDATED
#define UPDATE_ARGUMENTS                                                                   \
    , const GLOBAL carried *__restrict__ alpha, const GLOBAL carried *__restrict__ beta,   \
        const GLOBAL carried *__restrict__ start
#define FINISHED(row, total) (alpha[0] * (total) + beta[0] * start[row])
#else
#define UPDATE_ARGUMENTS
#define FINISHED(row, total) (total)
#endif

// An element that is read once: caches need not keep it.
#ifdef __OPENCL_VERSION__
#define ONCE(address) (*(address))
#else
#define ONCE(address) __ldcs(address)
#endif

// The product of an entry; of padding 0, whatever is at the index.
__device__ __forceinline__ carried product(carried value, carried factor)
{
    return value != 0 ? value * factor : 0;
}
