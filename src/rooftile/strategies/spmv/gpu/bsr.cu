// bsr: a thread a row of blocks of SIDE x SIDE values.
//
// One index serves a whole block, the elements of x that a block needs lie side by side, and a load
// brings RUN values.  What it costs: a block is stored whole, however few entries it has.  A block
// may end beyond the columns, unless all are WHOLE: it has zeros there, and x has nothing.
//
// values[blocks][SIDE][SIDE], at an address that is a multiple of 16, block_columns[blocks],
// block_offsets[ceil(rows / SIDE) + 1], x[columns], y[rows].
// Grid: x over blocks of rows.
// Block: x over BLOCK rows.

#include "spmv.h"

#if SIDE % 4 == 0
#define RUN 4
#elif SIDE % 2 == 0
#define RUN 2
#else
#define RUN 1
#endif
#define RUN_BYTES (RUN * sizeof(given))

typedef struct {
    given value[RUN];
} __attribute__((aligned(RUN_BYTES < 16 ? RUN_BYTES : 16))) values_of_row;

__global__ void LAUNCH_BOUNDS(BLOCK)
bsr(const GLOBAL given* __restrict__ values, const GLOBAL INDEX* __restrict__ block_columns,
    const GLOBAL INDEX* __restrict__ block_offsets,
    const GLOBAL carried* __restrict__ x UPDATE_ARGUMENTS, GLOBAL carried* __restrict__ y,
    int64 rows, int64 columns)
{
    int64 row = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    carried total = 0;
    INDEX last = block_offsets[row / SIDE + 1];
    // Several blocks at once would wait for the slowest of their loads.
    ROLLED
    for (INDEX b = block_offsets[row / SIDE]; b < last; b++) {
        int64 column = (int64)block_columns[b] * SIDE;
        const GLOBAL values_of_row* line =
            (const GLOBAL values_of_row*)(values + ((int64)b * SIDE + row % SIDE) * SIDE);
        UNROLL_BY(2)
        for (int j = 0; j < SIDE; j += RUN) {
            values_of_row some = line[j / RUN];
            UNROLL
            for (int i = 0; i < RUN; i++)
                if (WHOLE || column + j + i < columns)
                    total += product(taken(some.value[i]), x[column + j + i]);
        }
    }
    y[row] = FINISHED(row, total);
}
