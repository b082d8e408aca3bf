// Operands rounded to TF32.

#pragma once

// The nearest number that the cores hold, ties to even; they themselves would cut off the rest.  An
// infinity or NaN stays as it is: rounding could carry a NaN into an infinity.
__device__ __forceinline__ float tf32(float value)
{
    unsigned bits = __float_as_uint(value);
#if __CUDA_ARCH__ >= 900
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
#else
    if (fabsf(value) < INFINITY) bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
#endif
    return __uint_as_float(bits);
}
