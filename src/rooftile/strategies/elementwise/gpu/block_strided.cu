// block_strided: a block takes ELEMENTS sections, a thread the same place of each.
//
// As in `adjacent` a thread computes several elements, but they lie BLOCK apart: in every round
// the threads of a warp read neighbours.  What it removes: the start of most threads, without
// spreading the accesses of a warp.
//
// x[count], y[count], alpha[1], out[count].
// Grid: x over blocks of ELEMENTS sections.
// Block: x over the BLOCK elements of a section.

#include "elementwise.h"

__global__ void block_strided(const GLOBAL NUMBER* x, const GLOBAL NUMBER* y,
                              const GLOBAL NUMBER* alpha, GLOBAL NUMBER* out, int64 count)
{
    int64 first = (int64)blockIdx.x * BLOCK * ELEMENTS + threadIdx.x;
    for (int e = 0; e < ELEMENTS; e++) {
        // Each section has a guard of its own: the last one may end anywhere.
        int64 i = first + e * BLOCK;
        if (i < count) out[i] = combined(x[i], y[i], *alpha);
    }
}
