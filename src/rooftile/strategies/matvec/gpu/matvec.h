// What texts of matvec share.  a[rows][columns], with TRANSPOSE a[columns][rows]; x[columns]; y[rows].
// Sizes come with the launch.

#pragma once

__device__ __forceinline__ int64 place_in_a(int i, int j, int rows, int columns)
{
    return TRANSPOSE ? (int64)j * rows + i : (int64)i * columns + j;
}

// Adds to a number in shared memory that other threads add to as well.
#ifdef __OPENCL_VERSION__
inline void add_shared(volatile __local float* address, float value)
{
    volatile __local int* bits = (volatile __local int*)address;
    int seen = *bits, expected;
    do {
        expected = seen;
        seen = atomic_cmpxchg(bits, expected, as_int(as_float(expected) + value));
    } while (seen != expected);
}
#else
__device__ __forceinline__ void add_shared(float* address, float value)
{
    atomicAdd(address, value);
}
#endif

// Before atomics add to it, y is zero.  Grid: x over rows.
__global__ void clear(GLOBAL float* y, int rows)
{
    int i = blockIdx.x * CLEAR_THREADS + threadIdx.x;
    if (i < rows) y[i] = 0.0f;
}
