// A row's sum in ELL: column k of the padded rows lies side by side, for all rows.
//
// values[width][rows], column_index[width][rows], x[columns].

#pragma once
#include "spmv.h"

__device__ __forceinline__ carried padded_row(const GLOBAL given* __restrict__ values,
                                              const GLOBAL INDEX* __restrict__ column_index,
                                              const GLOBAL carried* __restrict__ x, int64 row,
                                              int64 rows, int width)
{
    carried total = 0;
    for (int64 at = row; width > 0; at += rows, width--)
        total += product(values[at], x, column_index[at]);
    return total;
}
