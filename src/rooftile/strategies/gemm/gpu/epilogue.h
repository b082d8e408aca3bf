// The epilogue of a layer: a bias and an activation, which products of matrices have not.
//
// The problem's sizes are macros: INPUTS OUTPUTS; ACTIVATION is the fused one.  x[images][INPUTS], weights[OUTPUTS][INPUTS], bias[OUTPUTS], out[images][OUTPUTS].
// Offsets of rows are 64-bit, so that arrays may have more than 2^31 elements.

#pragma once

#include "common/fused.h"

// The bias's part of a result; with UNBIASED zero.
#if UNBIASED
#define BIAS(value) 0.0f
#else
#define BIAS(value) (value)
#endif

#ifdef PARTS
// Adds the sums that the parts of a result have left in partial[PARTS][results], in their order.
__device__ __forceinline__ float sum_of_parts(const GLOBAL float* partial, int64 result,
                                              int64 results)
{
    float sum = 0.0f;
    UNROLL for (int part = 0; part < PARTS; part++) sum += partial[part * results + result];
    return sum;
}
#endif

// The four inputs of a row from `start` on, zeros beyond its end.  One load reads them where rows
// begin on 16 bytes.
__device__ __forceinline__ float4 four_inputs(const GLOBAL float* row, int start)
{
#if INPUTS % 4 == 0
    return start < INPUTS ? *(const GLOBAL float4*)(row + start)
                          : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#else
    return make_float4(start < INPUTS ? row[start] : 0.0f,
                       start + 1 < INPUTS ? row[start + 1] : 0.0f,
                       start + 2 < INPUTS ? row[start + 2] : 0.0f,
                       start + 3 < INPUTS ? row[start + 3] : 0.0f);
#endif
}
