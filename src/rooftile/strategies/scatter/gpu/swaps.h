// An update of any kind by the one atomic that is enough for all: compare and swap.
//
// It stores a new value if the old one is still there, and returns what it found. A thread that
// found another value begins again with it: another thread's update came between, so that one
// thread always makes progress. Bits are compared, so that a NaN equals itself.

#pragma once

#include "update.h"

#ifdef __OPENCL_VERSION__
#if KIND == 1 || KIND == 3
#define SWAP(address, expected, made) \
    atom_cmpxchg((volatile __global bits*)(address), expected, made)
#else
#define SWAP(address, expected, made) \
    atomic_cmpxchg((volatile __global bits*)(address), expected, made)
#endif
#else
#define SWAP(address, expected, made) atomicCAS((bits*)(address), expected, made)
#endif

__device__ __forceinline__ void update_by_swaps(GLOBAL number* address, number value)
{
    bits seen = *(volatile GLOBAL bits*)address, expected;
    do {
        expected = seen;
        seen = SWAP(address, expected, BITS(combined(NUMBER(expected), value)));
    } while (seen != expected);
}
