// Common parts of products on tensor cores: the type of weights, and a lane's stores.

#pragma once

#include "common/formats.h"
#include "common/narrow.h"
#include "common/tf32.h"
#include "gemm/gpu/epilogue.h"

// A weight in the cores' type.
#if CORES == TF32
typedef float element;
#define ELEMENT(value) tf32(value)
#else
typedef narrow element;
#define ELEMENT(value) NARROW(value)
#endif

// Stores a lane's two neighbouring results of a row.
__device__ __forceinline__ void store_two(result* to, int output, float y0, float y1)
{
    if (output >= OUTPUTS) return;
#if OUTPUTS % 2 == 0
    *(result_2*)to = RESULT_2(y0, y1);
#else
    to[0] = RESULT(y0);
    if (output + 1 < OUTPUTS) to[1] = RESULT(y1);
#endif
}
