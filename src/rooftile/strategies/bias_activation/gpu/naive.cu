// naive: one thread makes one element.  y may be x.
//
// x[rows][COLUMNS], with BIASED bias[COLUMNS], y[rows][COLUMNS].
// Grid: x over the elements.

#include "biased.h"

__global__ void naive(const GLOBAL float* x, BIAS_ARGUMENT GLOBAL float* y, int count)
{
    GRIDDEPCONTROL_WAIT();
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) y[i] = VALUE(i, x[i]);
}
