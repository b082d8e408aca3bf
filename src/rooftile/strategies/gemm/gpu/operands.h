// The operands of a product of matrices and its epilogue. Macros say how the matrices are laid out:
// a[rows][inner], with TRANSPOSE_A a[inner][rows]; b[inner][columns], with TRANSPOSE_B
// b[columns][inner]; out[rows][columns]. Sizes come with the launch. Elements of a and b are
// `given`, of out `result`: in 16 bits where X_NARROW and OUT_NARROW say so.
//
// With BIASED the product is a layer's: a is x[images][inputs], b the weights[outputs][inputs], and
// each result gets bias[outputs] and the ACTIVATION.

#pragma once

#include "common/formats.h"

#if BIASED
#include "common/fused.h"
#define BIAS_PARAMETER const GLOBAL float* __restrict__ bias,
#define EPILOGUE(sum, column) activate((sum) + bias[column])
#else
#define BIAS_PARAMETER
#define EPILOGUE(sum, column) (sum)
#endif

__device__ __forceinline__ int64 place_in_a(int i, int k, int rows, int inner)
{
    return TRANSPOSE_A ? (int64)k * rows + i : (int64)i * inner + k;
}

__device__ __forceinline__ int64 place_in_b(int k, int j, int inner, int columns)
{
    return TRANSPOSE_B ? (int64)j * inner + k : (int64)k * columns + j;
}
