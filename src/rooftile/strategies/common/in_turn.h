// A thread's elements one after the other.
//
// Of a sum of floating-point numbers (LOSES) what rounding loses is carried along (Kahan): without
// that, the error of many equal numbers would grow as their count.

#pragma once
#include "common/operator.h"

// The elements first, first + stride and so on below last, adjacent ones `apart` in memory.
__device__ __forceinline__ carried in_turn(const GLOBAL given* x, int64 first, int64 last,
                                           int64 stride, int64 apart)
{
    carried total = IDENTITY;
#if LOSES
    carried lost = 0;
    for (int64 j = first; j < last; j += stride) {
        carried corrected = taken(x[j * apart]) - lost, more = total + corrected;
        lost = (more - total) - corrected;
        // Beyond an infinity there is nothing to carry along.
        if (lost != lost) lost = 0;
        total = more;
    }
#else
    for (int64 j = first; j < last; j += stride) total = combined(total, taken(x[j * apart]));
#endif
    return total;
}
