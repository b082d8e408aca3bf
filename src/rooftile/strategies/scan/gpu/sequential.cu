// sequential: a thread a line, its elements one after the other.
//
// As few combinations as there are elements, and as many steps: all but one thread of a line wait.
//
// x[outer][count][inner], y[outer][count][inner].
// Grid: x over blocks of lines.
// Block: x over BLOCK lines.

#include "scan.h"

__global__ void sequential(const GLOBAL given* x, GLOBAL result* y, int64 lines, int64 count,
                           int64 inner)
{
    int64 line = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (line >= lines) return;
    struct carry before = nothing();
    for (int64 element = 0; element < count; element++) {
        int64 at = place(line, element, count, inner);
        struct carry after = joined(before, taken(x[at]));
        y[at] = stored(value_of(EXCLUSIVE ? before : after));
        before = after;
    }
}
