// The items of sorting networks: a key, and its element's index, so that no two are equal.

#pragma once
#include "keys.h"

// True if the first key and place goes after the second.
__device__ __forceinline__ int behind(key a, unsigned from_a, key b, unsigned from_b)
{
    return a > b || (a == b && from_a > from_b);
}
