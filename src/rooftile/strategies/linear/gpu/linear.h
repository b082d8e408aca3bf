// What texts of linear share.  The problem's sizes are macros: INPUTS OUTPUTS; ACTIVATION
// is the fused one.  x[images][INPUTS], weights[OUTPUTS][INPUTS], bias[OUTPUTS], out[images][OUTPUTS].
// Offsets of rows are 64-bit, so that arrays may have more than 2^31 elements.

#pragma once

#include "common/fused.h"

// The four inputs of a row from `start` on, zeros beyond its end.  Rows that begin on 16 bytes are
// read by one load.
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
