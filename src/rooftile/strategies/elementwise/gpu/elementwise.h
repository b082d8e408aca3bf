// Common parts of the rungs of `elementwise`: the function of an element.
//
// ADD, AXPY or SCALE is 1. NUMBER is the type of an element: of integers unsigned, so that sums
// wrap around, of bool (LOGICAL) 0 or 1, and of numbers of 16 bits (NARROW_NUMBERS, of CORES) their
// bits. Every kernel takes x, y and alpha; for an array that the function lacks x is passed again,
// and not read.
//
// Product and sum are rounded separately, as everywhere else: a compiler must not fuse them.
// float32 holds the exact product of two numbers of 16 bits, and enough of their sum to be rounded
// once.

#if NARROW_NUMBERS
#include "common/narrow.h"
#endif

#ifdef __OPENCL_VERSION__
typedef ulong uint64;
typedef ulong2 uint64_pair;
#if DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
#define PRODUCT(a, b) ((a) * (b))
#else
typedef unsigned long long uint64;
typedef ulonglong2 uint64_pair;
#if NARROW_NUMBERS
#define PRODUCT(a, b) ((a) * (b))
#elif DOUBLES
#define PRODUCT(a, b) __dmul_rn(a, b)
#else
#define PRODUCT(a, b) __fmul_rn(a, b)
#endif
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
#if LOGICAL
    return (x | y) != 0; // any byte but 0 is true
#elif ADD
    return ROUNDED(VALUE_OF(x) + VALUE_OF(y));
#elif AXPY
    NUMBER product = ROUNDED(PRODUCT(VALUE_OF(alpha), VALUE_OF(x)));
    return ROUNDED(VALUE_OF(product) + VALUE_OF(y));
#else
    return ROUNDED(PRODUCT(VALUE_OF(alpha), VALUE_OF(x)));
#endif
}
