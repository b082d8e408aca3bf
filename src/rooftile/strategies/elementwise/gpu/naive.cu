// naive: a thread an element.
//
// The last block has threads beyond the last element, which the guard sends home.
//
// x[count], y[count], alpha[1], out[count].
// Grid: x over blocks of elements.
// Block: x over BLOCK elements.

#include "elementwise.h"

__global__ void naive(const GLOBAL NUMBER* x, const GLOBAL NUMBER* y, const GLOBAL NUMBER* alpha,
                      GLOBAL NUMBER* out, int64 count)
{
    int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) out[i] = combined(x[i], y[i], *alpha);
}
