// adjacent: a thread takes ELEMENTS neighbours, the contrast to `block_strided`.
//
// Fewer threads do the same work, each without the start of a new one.  But the threads of a warp
// read places that lie ELEMENTS apart, so that each of a thread's loads touches as many sectors as
// all of them together need.  What it costs: ELEMENTS times the requests to the cache, which must
// keep the sectors until the last of them.
//
// x[count], y[count], alpha[1], out[count].
// Grid: x over blocks of BLOCK runs.
// Block: x over BLOCK runs of ELEMENTS elements.

#include "elementwise.h"

__global__ void adjacent(const GLOBAL NUMBER* x, const GLOBAL NUMBER* y,
                         const GLOBAL NUMBER* alpha, GLOBAL NUMBER* out, int64 count)
{
    int64 first = ((int64)blockIdx.x * BLOCK + threadIdx.x) * ELEMENTS;
    for (int e = 0; e < ELEMENTS; e++)
        if (first + e < count) out[first + e] = combined(x[first + e], y[first + e], *alpha);
}
