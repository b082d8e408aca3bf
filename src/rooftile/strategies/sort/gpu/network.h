// What sorting networks compare: a key, and where its element was, so that no two are equal.

#pragma once
#include "keys.h"

// Whether the element of the first key and place goes behind that of the second.
__device__ __forceinline__ int behind(key a, unsigned from_a, key b, unsigned from_b)
{
    return a > b || (a == b && from_a > from_b);
}
