// Common parts of the rungs of `reduce`: the indices of a result's elements, the first kernel's
// results, and the tree.
//
// x[slabs][columns][inner] is reduced along its middle axis; result `row` belongs to slab row /
// inner and place row % inner. ADJACENT: inner is 1. FINAL: the first kernel makes results; else it
// makes partial results, which `finish` joins.

#pragma once
#include "common/operator.h"

#if FINAL
typedef result kept;
#define KEPT(value) stored(value)
#else
typedef carried kept;
#define KEPT(value) (value)
#endif

#if ADJACENT
#define FIRST(row) ((row) * columns)
#define APART 1
#else
#define FIRST(row) ((row) / inner * columns * inner + (row) % inner)
#define APART inner
#endif

// The values of `count` neighbouring threads combined, a power of two, in the first of them.  The
// order is always the same, but not that of the threads.  All threads of a block call it; `joined`
// has a place for each.
__device__ __forceinline__ carried tree_of(SHARED carried* joined, int thread, int count,
                                           carried value)
{
    joined[thread] = value;
    for (int reach = count / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (thread % count < reach)
            joined[thread] = combined(joined[thread], joined[thread + reach]);
    }
    return joined[thread];
}
