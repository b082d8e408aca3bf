// The last kernel of products whose parts are summed apart (split-K): it adds a result's parts, and
// applies the epilogue.

#pragma once

#include "common/formats.h"
#include "gemm/gpu/epilogue.h"

// out[images][OUTPUTS] from partial[PARTS][images][OUTPUTS].  Grid: x over the results.
__global__ void LAUNCH_BOUNDS(FINISH_THREADS)
KERNEL(finish)(const GLOBAL float* __restrict__ partial, const GLOBAL float* __restrict__ bias,
               GLOBAL result* __restrict__ out, int images)
{
    int64 e = (int64)blockIdx.x * FINISH_THREADS + threadIdx.x, results = (int64)images * OUTPUTS;
    if (e >= results) return;
    out[e] = RESULT(activate(sum_of_parts(partial, e, results) + bias[e % OUTPUTS]));
}
