// strips: of a transposed matrix, a strip of rows a block, a share of the columns a part.
//
// In `row_threads` a transposed matrix is read along its memory, but by one thread a row: too few
// to keep memory busy. Here a thread has four neighbouring rows, which one load brings, and a share
// of the columns; the shares' sums are joined in shared memory, the parts' by `finish`. x is in
// shared memory.
// What it removes: idle memory.
//
// It is `few_rows` of matmul for a matrix of one row, x, with a for b as it is.

#define FAMILY strips
#include "matmul/gpu/few_rows.h"
