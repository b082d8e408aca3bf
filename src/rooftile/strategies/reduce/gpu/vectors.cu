// vectors: persistent segments, LOADS vectors of 16 bytes in flight a thread.
//
// In `persistent`, a thread waits for each element.  Here a team of TEAM threads walks along its
// segment of a row.  Each thread has LOADS independent totals, a vector each, so that as many loads
// are under way; only then come the tree and one partial result a segment.  There are no more
// segments than keep the device busy.  What it removes: waiting for memory, and most instructions
// that load.
//
// Where rows begin at no multiple of 16 bytes, VECTOR is 1.
//
// x[rows][columns], partials[rows][segments].
// Grid: x over segments, y over runs of ROWS rows.
// Block: x over TEAM (a power of two, the tunable GROUP) threads of a row, y over ROWS rows.

#define FAMILY vectors
#include "vectors.h"

__global__ void LAUNCH_BOUNDS(TEAM * ROWS)
vectors(const GLOBAL given* __restrict__ x, GLOBAL kept* __restrict__ partials, int rows,
        int64 columns)
{
    __shared__ carried joined[TEAM * ROWS];
    int lane = threadIdx.x, thread = threadIdx.y * TEAM + lane;
    int64 row = (int64)blockIdx.y * ROWS + threadIdx.y;
    // Rows beyond the last repeat the last, and are not written.
    const GLOBAL given* elements = x + (row < rows ? row : rows - 1) * columns;
    int64 at = (int64)blockIdx.x * TEAM + lane, stride = (int64)gridDim.x * TEAM;
    carried total = of_share(elements, columns, at, stride);
    total = combined(total, of_rest(elements, columns, lane, TEAM));
    total = tree_of(joined, thread, TEAM, total);
    if (lane == 0 && row < rows) partials[row * gridDim.x + blockIdx.x] = KEPT(total);
}
