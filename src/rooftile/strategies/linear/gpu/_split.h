// Before texts that multiply in TF32: numbers rounded to it, or split in two of it; CUDA only.

// To the nearest TF32, ties to even.  Carried into an infinity, a NaN would not be one.
__device__ __forceinline__ unsigned tf32(float value)
{
    unsigned bits;
#if __CUDA_ARCH__ >= 900
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
#else
    bits = __float_as_uint(value);
    bits = fabsf(value) < INFINITY ? (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu : bits;
#endif
    return bits;
}

// Both halves of a split: ties go away from zero, which costs less.  Too close to underflow, the
// low half would be cut; an infinity or NaN makes it NaN.
__device__ __forceinline__ void split(float value, unsigned* hi, unsigned* lo)
{
    *hi = (__float_as_uint(value) + 0x1000) & ~0x1fffu;
    bool holds = fabsf(value) >= LEAST_SPLIT || value == 0.0f;
    *lo = holds ? __float_as_uint(value - __uint_as_float(*hi)) : 0x7fffffff;
}
