// What the rungs of `elementwise` share: the function of an element.
//
// ADD, AXPY or SCALE is 1.  NUMBER is the type of an element, that of int32 unsigned, so that sums
// wrap around, and that of numbers of 16 bits (NARROW_NUMBERS, of CORES) their bits.  Every kernel is
// given x, y and alpha; what the function lacks is x once more, and is not read.
//
// Product and sum are rounded apart, as everywhere else: a compiler must not fuse them.  float32
// holds the exact product of two numbers of 16 bits, and enough of their sum to be rounded once.

#if NARROW_NUMBERS
#include "common/narrow.h"
#endif

#ifdef __OPENCL_VERSION__
#if DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
#define PRODUCT(a, b) ((a) * (b))
#elif NARROW_NUMBERS
#define PRODUCT(a, b) ((a) * (b))
#elif DOUBLES
#define PRODUCT(a, b) __dmul_rn(a, b)
#else
#define PRODUCT(a, b) __fmul_rn(a, b)
#endif

#if NARROW_NUMBERS
#define VALUE_OF(x) widened(x)
#define ROUNDED(value) NARROW(value)
#else
#define VALUE_OF(x) (x)
#define ROUNDED(value) (value)
#endif

// The result of an element of x, one of y and alpha.
__device__ __forceinline__ NUMBER combined(NUMBER x, NUMBER y, NUMBER alpha)
{
#if ADD
    return ROUNDED(VALUE_OF(x) + VALUE_OF(y));
#elif AXPY
    NUMBER product = ROUNDED(PRODUCT(VALUE_OF(alpha), VALUE_OF(x)));
    return ROUNDED(VALUE_OF(product) + VALUE_OF(y));
#else
    return ROUNDED(PRODUCT(VALUE_OF(alpha), VALUE_OF(x)));
#endif
}
