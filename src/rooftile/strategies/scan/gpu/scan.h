// What the texts of `scan` share: where a line's elements lie, and what is carried along a line.
//
// A line is what is scanned together: `count` elements, `inner` apart.  Its element 0 is the one
// that is scanned first: with REVERSE the last in memory.  With EXCLUSIVE a result does not take
// part itself.

#pragma once
#include "common/carry.h"

__device__ __forceinline__ int64 place(int64 line, int64 element, int64 count, int64 inner)
{
    int64 from_first = REVERSE ? count - 1 - element : element;
    return (line / inner * count + from_first) * inner + line % inner;
}
