// naive: one thread makes one element.
//
// y[size], dy[size], dx[size].
// Grid: x over the elements.

#include "common/activations.h"

__global__ void naive(const GLOBAL float* y, const GLOBAL float* dy, GLOBAL float* dx,
                      int size)
{
    int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (i < size) dx[i] = dy[i] * derivative(ACTIVATION, y[i]);
}
