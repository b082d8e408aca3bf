// Rounds weights to what CORES multiply: 16 bits, or float where they are TF32 or, with ROUNDED,
// multiplied as float.

#pragma once

#include "common/cores.h"
#include "common/pipelines/pdl.h"

#if CORES == TF32
#include "common/tf32.h"
typedef float rounded_weight;
#define ROUND_WEIGHT(weight) tf32(weight)
#else
#include "common/narrow.h"
#if ROUNDED
typedef float rounded_weight;
#define ROUND_WEIGHT(weight) widened(NARROW(weight))
#else
typedef narrow rounded_weight;
#define ROUND_WEIGHT(weight) NARROW(weight)
#endif
#endif

// weights[count], rounded[count].  Grid: a thread a weight.
__global__ void KERNEL(round_weights)(const GLOBAL float* weights,
                                      GLOBAL rounded_weight* __restrict__ rounded, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    GRIDDEPCONTROL_LAUNCH();
    GRIDDEPCONTROL_WAIT();
    if (i < count) rounded[i] = ROUND_WEIGHT(weights[i]);
}
