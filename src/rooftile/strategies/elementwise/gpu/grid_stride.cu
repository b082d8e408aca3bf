// grid_stride: as many threads as the device holds, each a grid apart from its next.
//
// Any grid is right for any count: the loop goes on where the whole grid ends.  What it removes:
// the start of all blocks but the first ones.
//
// x[count], y[count], alpha[1], out[count].
// Grid: x over BLOCKS blocks a multiprocessor.
// Block: x over BLOCK elements.

#include "elementwise.h"

__global__ void grid_stride(const GLOBAL NUMBER* x, const GLOBAL NUMBER* y,
                            const GLOBAL NUMBER* alpha, GLOBAL NUMBER* out, int64 count)
{
    int64 stride = (int64)gridDim.x * BLOCK;
    for (int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x; i < count; i += stride)
        out[i] = combined(x[i], y[i], *alpha);
}
