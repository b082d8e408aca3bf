// Atomic additions that both languages know: of 64-bit integers and float32 in global memory, of
// 32-bit integers and float32 in shared memory.
//
// OpenCL has none of float32, and CUDA's hardware none of shared float32: there a loop compares and
// swaps until nobody came between.

#pragma once

#ifdef __OPENCL_VERSION__

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define ADD_LONG(address, value) atom_add((volatile __global long*)(address), (long)(value))
#define ADD_SHARED_UINT(address, value) \
    atomic_add((volatile __local unsigned*)(address), (unsigned)(value))

static inline void add_shared(volatile __local float* address, float value)
{
    volatile __local int* bits = (volatile __local int*)address;
    int seen = *bits, expected;
    do {
        expected = seen;
        seen = atomic_cmpxchg(bits, expected, as_int(as_float(expected) + value));
    } while (seen != expected);
}

#else

#define ADD_LONG(address, value) \
    atomicAdd((unsigned long long*)(address), (unsigned long long)(value))
#define ADD_SHARED_UINT(address, value) atomicAdd((unsigned*)(address), (unsigned)(value))

__device__ __forceinline__ void add_shared(float* address, float value)
{
    atomicAdd(address, value);
}

#endif
