// Storage of images and results: in float or, as X_NARROW and OUT_NARROW say, in 16 bits.

#pragma once

#if X_NARROW || OUT_NARROW
#include "common/narrow.h"
#endif

#if X_NARROW
typedef narrow given;
#define WIDE(x) widened(x)
#else
typedef float given;
#define WIDE(x) (x)
#endif

// Results, and two or four of them that one store takes together.
#if OUT_NARROW
typedef narrow result;
typedef pair result_2;
typedef uint2 result_4;
#define RESULT(y) NARROW(y)
#define WIDE_RESULT(y) widened(y)
#define RESULT_2(a, b) pack(a, b)
#define RESULT_4(a, b, c, d) make_uint2(pack(a, b), pack(c, d))
#else
typedef float result;
typedef float2 result_2;
typedef float4 result_4;
#define RESULT(y) (y)
#define WIDE_RESULT(y) (y)
#define RESULT_2(a, b) make_float2(a, b)
#define RESULT_4(a, b, c, d) make_float4(a, b, c, d)
#endif
