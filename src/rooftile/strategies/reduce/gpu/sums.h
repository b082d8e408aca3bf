// What is summed, by BYTES: uint8 into 64 bits, else float32 into float32.

#pragma once

#if BYTES
typedef unsigned char given;
typedef int64 total;
#else
typedef float given;
typedef float total;
#endif

// The sum of the values of `count` neighbouring threads, a power of two, in the first of them.  Its
// order is always the same.  All threads of a block call it; `joined` has a place for each.
__device__ __forceinline__ total tree(SHARED total* joined, int thread, int count, total value)
{
    joined[thread] = value;
    for (int reach = count / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (thread % count < reach) joined[thread] += joined[thread + reach];
    }
    return joined[thread];
}
