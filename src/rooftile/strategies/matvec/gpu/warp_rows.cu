// warp_rows: a team of threads a row.
//
// In `row_threads` neighbours read elements a row apart.  Here a team of TEAM threads walks along one
// row, so that neighbours read neighbours, four at a time and AHEAD loads at once, and a tree in
// shared memory joins their sums.
// What it removes: reads that do not follow each other, without atomics.
//
// It is `few_rows` of matmul for a matrix of one row, x, with a for a transposed b.

#define FAMILY warp_rows
#include "matmul/gpu/few_rows.h"
