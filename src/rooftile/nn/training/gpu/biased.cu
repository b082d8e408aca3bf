// What a product of matrices lacks of a layer: y = activation(y + bias), where each row of y has
// OUTPUTS.
//
// Grid: x over the elements.

#include "common/fused.h"
#include "common/pipelines/pdl.h"

__global__ void biased(GLOBAL float* __restrict__ y, const GLOBAL float* bias, int count)
{
    GRIDDEPCONTROL_WAIT();
    int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < count) y[i] = activate(y[i] + bias[i % OUTPUTS]);
}
