// Numbers of a caller's array, which has the type FROM, one of these.

#pragma once

#define FLOAT32 0
#define FLOAT16 1
#define BFLOAT16 2

#if FROM == FLOAT32
typedef float source;
#else
typedef unsigned short source;
#endif

#ifdef __OPENCL_VERSION__
#define FLOAT_OF(bits) as_float(bits)
#define BITS_OF(value) as_uint(value)
#else
#define FLOAT_OF(bits) __uint_as_float(bits)
#define BITS_OF(value) __float_as_uint(value)
#endif

__device__ __forceinline__ float value_of(source bits)
{
#if FROM == FLOAT32
    return bits;
#elif FROM == BFLOAT16
    return FLOAT_OF((unsigned)bits << 16);
#elif defined(__OPENCL_VERSION__)
    return vload_half(0, (const __private half*)&bits);
#else
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#endif
}
