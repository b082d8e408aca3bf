// The value that is carried along a scanned line.

#pragma once
#include "common/operator.h"

// The combination of all elements so far. COMPENSATED is for sums of floating-point numbers: a
// rounding's loss is kept, so that the error does not grow with the number of terms (Knuth, "The
// Art of Computer Programming", volume 2, 4.2.2).
struct carry {
    carried high;
#if COMPENSATED
    carried low;
#endif
};

__device__ __forceinline__ struct carry nothing()
{
    struct carry before;
    before.high = IDENTITY;
#if COMPENSATED
    before.low = 0;
#endif
    return before;
}

__device__ __forceinline__ struct carry joined(struct carry before, carried value)
{
    struct carry after;
    after.high = combined(before.high, value);
#if COMPENSATED
    carried taken_up = after.high - before.high;
    carried lost = (before.high - (after.high - taken_up)) + (value - taken_up);
    // Beyond an infinity nothing is lost.
    after.low = before.low + (lost == lost ? lost : 0);
#endif
    return after;
}

__device__ __forceinline__ carried value_of(struct carry all)
{
#if COMPENSATED
    return all.high + all.low;
#else
    return all.high;
#endif
}
