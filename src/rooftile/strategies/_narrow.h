// Before texts whose operands are rounded to 16 bits, float16 or, with BFLOAT, bfloat16 (CUDA
// only): how images and results lie in memory, in float or, with X_NARROW and OUT_NARROW, so.

typedef unsigned pair;
typedef unsigned short narrow;

// Two numbers of a register: the first in the lower half.
__device__ __forceinline__ pair pack(float low, float high)
{
    pair both;
#if BFLOAT
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#endif
    return both;
}

__device__ __forceinline__ float widened(narrow bits)
{
#if BFLOAT
    return __uint_as_float((unsigned)bits << 16);
#else
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#endif
}

#define NARROW(value) ((narrow)pack(value, 0.0f))

#if X_NARROW
typedef narrow given;
#define VALUE(x) widened(x)
#else
typedef float given;
#define VALUE(x) widened(NARROW(x))
#endif

// Results beside each other, as many as one store takes.
#if OUT_NARROW
typedef narrow result;
typedef pair result_2;
typedef uint2 result_4;
#define RESULT(y) NARROW(y)
#define RESULT_2(a, b) pack(a, b)
#define RESULT_4(a, b, c, d) make_uint2(pack(a, b), pack(c, d))
#else
typedef float result;
typedef float2 result_2;
typedef float4 result_4;
#define RESULT(y) (y)
#define RESULT_2(a, b) make_float2(a, b)
#define RESULT_4(a, b, c, d) make_float4(a, b, c, d)
#endif
