// Common parts of scatter's texts: numbers and their bits, an update, and the test of its index.
//
// FUNCTION: 0 add, 1 subtract, 2 increment, 3 decrement, 4 min, 5 max, 6 exchange, 7 multiply.
// KIND: 0 int32, 1 int64, 2 float32, 3 float64.
// VALUES: 0 where the function counts by one.

#pragma once

#if KIND == 0
typedef int number;
typedef unsigned bits;
#define BITS(value) ((bits)(value))
#define NUMBER(held) ((number)(held))
#elif KIND == 1
typedef int64 number;
#define BITS(value) ((bits)(value))
#define NUMBER(held) ((number)(held))
#elif KIND == 2
typedef float number;
typedef unsigned bits;
#define BITS(value) __float_as_uint(value)
#define NUMBER(held) __uint_as_float(held)
#else
typedef double number;
#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define BITS(value) as_ulong(value)
#define NUMBER(held) as_double(held)
#else
#define BITS(value) ((bits)__double_as_longlong(value))
#define NUMBER(held) __longlong_as_double((long long)(held))
#endif
#endif

#if KIND == 1 || KIND == 3
#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
typedef unsigned long bits;
#else
typedef unsigned long long bits;
#endif
#endif

#if WIDE_INDEX
typedef int64 place_index;
#else
typedef int place_index;
#endif

#if VALUES
#define VALUES_PARAMETER const GLOBAL number* __restrict__ values,
#define VALUE(i) values[i]
#else
#define VALUES_PARAMETER
#define VALUE(i) ((number)1)
#endif

// Integers wrap around, so that they are combined without a sign.
#if KIND < 2
#define WRAPPING(a, op, b) ((number)((bits)(a) op (bits)(b)))
#else
#define WRAPPING(a, op, b) ((a) op (b))
#endif

// A number updated by a value. A NaN stays.
__device__ __forceinline__ number combined(number before, number value)
{
#if FUNCTION == 0 || FUNCTION == 2
    return WRAPPING(before, +, value);
#elif FUNCTION == 1 || FUNCTION == 3
    return WRAPPING(before, -, value);
#elif FUNCTION == 4
    return value < before || value != value ? value : before;
#elif FUNCTION == 5
    return value > before || value != value ? value : before;
#elif FUNCTION == 6
    return value;
#else
    return WRAPPING(before, *, value);
#endif
}

// The values before any update. Grid: x over places.
__global__ void KERNEL(copy)(const GLOBAL number* __restrict__ x, GLOBAL number* __restrict__ y,
                             int64 places)
{
    int64 place = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (place < places) y[place] = x[place];
}
