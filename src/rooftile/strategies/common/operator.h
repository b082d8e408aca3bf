// The operator of a reduction or a scan: `combined(a, b)`, and its `IDENTITY`.
//
// `given` is an element in memory, `carried` the type that is combined, and `result` the stored
// type: `taken(given)` and `stored(carried)` lead from one to the next. The macros are made by
// `operator.py`: GIVEN, CARRIED and RESULT are the types, NARROW_GIVEN and NARROW_RESULT say
// whether they have 16 bits (of CORES), REAL whether numbers are floating-point ones, DOUBLES
// whether they are double, BITS is the unsigned type of integers; EXPRESSION and IDENTITY are the
// operator's.
//
// Integers wrap around.  `least` and `greatest` are NaN if either is; of `least_number` and
// `greatest_number` only if both are.

#pragma once

#if DOUBLES && defined(__OPENCL_VERSION__)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#include "common/cores.h"

#ifdef __OPENCL_VERSION__
typedef ulong uint64;
#else
typedef unsigned long long uint64;
#endif
typedef GIVEN given;
typedef CARRIED carried;
typedef RESULT result;

#if REAL
__device__ __forceinline__ carried plus(carried x, carried y) { return x + y; }
__device__ __forceinline__ carried minus(carried x, carried y) { return x - y; }
__device__ __forceinline__ carried times(carried x, carried y) { return x * y; }
__device__ __forceinline__ carried negative(carried x) { return -x; }
__device__ __forceinline__ carried magnitude(carried x) { return fabs(x); }
__device__ __forceinline__ carried root(carried x) { return sqrt(x); }
#else
__device__ __forceinline__ carried plus(carried x, carried y) { return (BITS)x + (BITS)y; }
__device__ __forceinline__ carried minus(carried x, carried y) { return (BITS)x - (BITS)y; }
__device__ __forceinline__ carried times(carried x, carried y) { return (BITS)x * (BITS)y; }
__device__ __forceinline__ carried negative(carried x) { return 0 - (BITS)x; }
__device__ __forceinline__ carried magnitude(carried x) { return x < 0 ? negative(x) : x; }
#endif

__device__ __forceinline__ carried least(carried x, carried y)
{
#if REAL && !DOUBLES && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    carried found;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(found) : "f"(x), "f"(y));
    return found;
#else
    return x < y || x != x ? x : y;
#endif
}

__device__ __forceinline__ carried greatest(carried x, carried y)
{
#if REAL && !DOUBLES && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    carried found;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(found) : "f"(x), "f"(y));
    return found;
#else
    return x > y || x != x ? x : y;
#endif
}

__device__ __forceinline__ carried least_number(carried x, carried y)
{
    return x < y || y != y ? x : y;
}

__device__ __forceinline__ carried greatest_number(carried x, carried y)
{
    return x > y || y != y ? x : y;
}

__device__ __forceinline__ carried combined(carried a, carried b) { return EXPRESSION; }

__device__ __forceinline__ carried taken(given x)
{
#if LOGICAL_GIVEN
    return x != 0; // any byte but 0 is true
#elif !NARROW_GIVEN
    return x;
#elif CORES == BFLOAT16
    return __uint_as_float((unsigned)x << 16);
#elif defined(__OPENCL_VERSION__)
    return vload_half(0, (const half*)&x);
#else
    carried value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x));
    return value;
#endif
}

// Rounded to the nearest, ties to even; NaN stays NaN.
__device__ __forceinline__ result stored(carried x)
{
#if !NARROW_RESULT
    return x;
#elif CORES == BFLOAT16
    unsigned bits = __float_as_uint(x), odd = bits >> 16 & 1;
    return x == x ? (bits + 0x7fff + odd) >> 16 : bits >> 16 | 0x40;
#elif defined(__OPENCL_VERSION__)
    result bits;
    vstore_half_rte(x, 0, (half*)&bits);
    return bits;
#else
    result bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#endif
}
