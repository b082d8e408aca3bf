// Kernels before and after the ones that add to y by atomics: y is cleared before, and updated
// after them.
//
// y[rows].  Grid: x over blocks of rows.  Block: x over BLOCK threads.

#pragma once
#include "spmv.h"

#if DOUBLES && defined(__OPENCL_VERSION__)

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

// OpenCL adds no doubles: they are swapped until nobody came between.
static inline void add_to(volatile __global carried* address, carried value)
{
    volatile __global unsigned long* bits = (volatile __global unsigned long*)address;
    unsigned long seen = *bits, expected;
    do {
        expected = seen;
        seen = atom_cmpxchg(bits, expected, as_ulong(as_double(expected) + value));
    } while (seen != expected);
}

#else

__device__ __forceinline__ void add_to(GLOBAL carried* address, carried value)
{
    atomicAdd(address, value);
}

#endif

__global__ void KERNEL(clear)(GLOBAL carried* y, int64 rows)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row < rows) y[row] = 0;
}

#if UPDATED
__global__ void KERNEL(finish)(GLOBAL carried* y UPDATE_ARGUMENTS, int64 rows)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row < rows) y[row] = FINISHED(row, y[row]);
}
#endif
