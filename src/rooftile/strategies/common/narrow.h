// Rounds operands to 16 bits: to bfloat16 where the cores multiply that, else to float16.

#pragma once

#include "common/cores.h"

typedef unsigned pair;
typedef unsigned short narrow;

// GPUs before sm_80 do not round two numbers at once.
#if defined(__OPENCL_VERSION__) || defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define ONE_BY_ONE
// NaN must not be carried into another exponent.
__device__ __forceinline__ pair rounded_bits(float value)
{
#if CORES == BFLOAT16
    pair bits = __float_as_uint(value);
    return (value != value ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#else
    narrow bits;
#ifdef __OPENCL_VERSION__
    vstore_half_rte(value, 0, (half*)&bits);
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#endif
    return bits;
#endif
}
#endif

// Two numbers in one register, the first in the lower half.
__device__ __forceinline__ pair pack(float low, float high)
{
    pair both;
#ifdef ONE_BY_ONE
    both = rounded_bits(low) | rounded_bits(high) << 16;
#elif CORES == BFLOAT16
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#endif
    return both;
}

__device__ __forceinline__ float widened(narrow bits)
{
#if CORES == BFLOAT16
    return __uint_as_float((unsigned)bits << 16);
#elif defined(__OPENCL_VERSION__)
    return vload_half(0, (const half*)&bits);
#else
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#endif
}

#define NARROW(value) ((narrow)pack(value, 0.0f))

// The value of an input as it is multiplied; `common/formats.h` has its storage.
#if X_NARROW
#define VALUE(x) widened(x)
#else
#define VALUE(x) widened(NARROW(x))
#endif
