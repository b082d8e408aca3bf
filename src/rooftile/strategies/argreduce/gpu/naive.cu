// naive: a thread a result, its elements one after the other.
//
// x[slabs][columns][inner], places[rows].
// Grid: x over blocks of rows.
// Block: x over BLOCK rows.

#include "argreduce.h"

__global__ void naive(const GLOBAL given* x, GLOBAL int64* places, int rows, int64 columns,
                      int64 inner)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x, place = 0;
    if (row >= rows) return;
    const GLOBAL given* elements = x + FIRST(row);
    carried best = taken(elements[0]);
    for (int64 j = 1; j < columns; j++) {
        carried value = taken(elements[j * APART]);
        if (better(value, best)) {
            best = value;
            place = j;
        }
    }
    places[row] = place;
}
