// Common parts of scan's texts: the indices of a line's elements, and the value carried along a
// line.
//
// A line is scanned together: `count` elements, `inner` apart. Its element 0 is scanned first: with
// REVERSE the last in memory. With EXCLUSIVE a result does not take part itself.

#pragma once
#include "common/carry.h"

__device__ __forceinline__ int64 place(int64 line, int64 element, int64 count, int64 inner)
{
    int64 from_first = REVERSE ? count - 1 - element : element;
    return (line / inner * count + from_first) * inner + line % inner;
}
