// Common parts of the rungs of `argreduce`: a value with its place, and the choice of two.
//
// x[slabs][columns][inner] is searched along its middle axis; result `row` belongs to slab row /
// inner and place row % inner. ADJACENT: inner is 1. EXPRESSION is the greatest or the least of
// two, as MAXIMUM says; NaN is before every number.

#pragma once
#include "common/operator.h"

// A place behind all places.
#define NOWHERE 0x7fffffffffffffffL

struct found {
    carried value;
    int64 place;
};

#if ADJACENT
#define FIRST(row) ((row) * columns)
#define APART 1
#else
#define FIRST(row) ((row) / inner * columns * inner + (row) % inner)
#define APART inner
#endif

// True if a comes before b by its value alone.
__device__ __forceinline__ bool better(carried a, carried b)
{
#if MAXIMUM
    return !(a <= b) && b == b;
#else
    return !(a >= b) && b == b;
#endif
}

__device__ __forceinline__ bool same(carried a, carried b)
{
    return a == b || (a != a && b != b);
}

__device__ __forceinline__ struct found first_of(struct found a, struct found b)
{
    bool second = better(b.value, a.value) || (same(a.value, b.value) && b.place < a.place);
    return second ? b : a;
}

// Of `count` neighbouring threads, a power of two, what the first of them finds.  All threads of a
// block call it; both arrays have a place for each.
__device__ __forceinline__ struct found tree_of(SHARED carried* values, SHARED int64* places,
                                                int thread, int count, struct found own)
{
    values[thread] = own.value;
    places[thread] = own.place;
    for (int reach = count / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (thread % count < reach) {
            struct found other = {values[thread + reach], places[thread + reach]};
            own = first_of(own, other);
            values[thread] = own.value;
            places[thread] = own.place;
        }
    }
    return own;
}
