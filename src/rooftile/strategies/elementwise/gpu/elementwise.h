// What the rungs of `elementwise` share: the function of an element.
//
// ADD, AXPY or SCALE is 1.  NUMBER is the type of an element, that of int32 unsigned, so that sums
// wrap around.  Every kernel is given x, y and alpha; what the function lacks is x once more, and
// is not read.
//
// Product and sum are rounded apart, as everywhere else: a compiler must not fuse them.

#ifdef __OPENCL_VERSION__
#if DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
#define PRODUCT(a, b) ((a) * (b))
#elif DOUBLES
#define PRODUCT(a, b) __dmul_rn(a, b)
#else
#define PRODUCT(a, b) __fmul_rn(a, b)
#endif

// The result of an element of x, one of y and alpha.
__device__ __forceinline__ NUMBER combined(NUMBER x, NUMBER y, NUMBER alpha)
{
#if ADD
    return x + y;
#elif AXPY
    return PRODUCT(alpha, x) + y;
#else
    return PRODUCT(alpha, x);
#endif
}
