// The meaning of a row's label: a class that counts, or one that does not.
//
// A label that is IGNORED, or that is no class, counts for nothing: its row's loss and gradient are
// zeros, and nothing is read at its place.  With WEIGHTED, weights[CLASSES] are factors of rows.

#pragma once

__device__ __forceinline__ bool counts(int label)
{
    return (unsigned)label < (unsigned)CLASSES && label != IGNORED;
}

__device__ __forceinline__ float factor_of(const GLOBAL float* weights, int label)
{
    return WEIGHTED ? weights[label] : 1.0f;
}
