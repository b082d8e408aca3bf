// A row's sum in ELL: the k-th entries of all padded rows are adjacent.
//
// values[width][rows], column_index[width][rows], x[columns].

#pragma once
#include "spmv.h"

// Places whose values and x are loaded before the first is multiplied.
#define AT_ONCE 4

__device__ __forceinline__ carried padded_row(const GLOBAL given* __restrict__ values,
                                              const GLOBAL INDEX* __restrict__ column_index,
                                              const GLOBAL carried* __restrict__ x, int64 row,
                                              int64 rows, int width)
{
    carried total = 0;
    for (int first = 0; first < width; first += AT_ONCE) {
        carried value[AT_ONCE], factor[AT_ONCE];
        UNROLL
        for (int k = 0; k < AT_ONCE; k++) {
            // Behind the last place it is looked at again, and counts as 0.
            int64 at = (first + k < width ? first + k : width - 1) * rows + row;
            carried own = taken(values[at]);
            value[k] = first + k < width ? own : 0;
            factor[k] = x[column_index[at]];
        }
        UNROLL
        for (int k = 0; k < AT_ONCE; k++) total += product(value[k], factor[k]);
    }
    return total;
}
