// Numbers of 16 bits and float: BFLOAT16 says which 16 bits, bfloat16, else float16.  What is given and
// made, and how one becomes the other: WIDENS says that 16 bits become float, NARROWS the reverse; else
// bytes stay.

#pragma once

typedef unsigned short narrow;

#if BFLOAT16
__device__ __forceinline__ float widened(narrow bits)
{
#ifdef __OPENCL_VERSION__
    return as_float((unsigned)bits << 16);
#else
    return __uint_as_float((unsigned)bits << 16);
#endif
}

// To the nearest, halves to even; NaN stays one.
__device__ __forceinline__ narrow narrowed(float value)
{
#ifdef __OPENCL_VERSION__
    unsigned bits = as_uint(value);
#else
    unsigned bits = __float_as_uint(value);
#endif
    if (value != value) return (narrow)(bits >> 16 | 64);
    return (narrow)(bits + 0x7fff + (bits >> 16 & 1) >> 16);
}
#elif defined(__OPENCL_VERSION__)
static inline float widened(narrow bits) { return vload_half(0, (const half*)&bits); }

static inline narrow narrowed(float value)
{
    narrow bits;
    vstore_half_rte(value, 0, (half*)&bits);
    return bits;
}
#else
__device__ __forceinline__ float widened(narrow bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

__device__ __forceinline__ narrow narrowed(float value)
{
    narrow bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
#endif

#if WIDENS
typedef narrow given;
typedef float made;
#define MADE(x) widened(x)
#elif NARROWS
typedef float given;
typedef narrow made;
#define MADE(x) narrowed(x)
#else
typedef unsigned char given;
typedef unsigned char made;
#define MADE(x) (x)
#endif
