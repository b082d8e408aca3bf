// staged: a team's threads read its row's entries once, and keep COLUMNS columns each.
//
// What it removes: in `naive` every thread reads every entry of its row; here each thread of a team
// brings one of them to shared memory, and all take it from there.  Several sums a thread hide the
// time that b's rows take to come.
//
// values[entries], column_index[entries], row_offsets[rows + 1], b[columns][width], c[rows][width].
// Grid: x over runs of LINES rows, y over runs of ACROSS * COLUMNS columns of b.
// Block: x over ACROSS threads of a team, y over LINES rows.

#include "common/operator.h"

__global__ void LAUNCH_BOUNDS(ACROSS * LINES)
staged(const GLOBAL given* __restrict__ values, const GLOBAL INDEX* __restrict__ column_index,
       const GLOBAL INDEX* __restrict__ row_offsets, const GLOBAL carried* __restrict__ b,
       GLOBAL carried* __restrict__ c, int64 rows, int width)
{
    __shared__ carried factors[LINES][ACROSS];
    __shared__ int64 lines[LINES][ACROSS];
    __shared__ INDEX longest;
    int lane = threadIdx.x, line = threadIdx.y;
    int64 row = (int64)blockIdx.x * LINES + line;
    int column = blockIdx.y * ACROSS * COLUMNS + lane;
    INDEX first = row < rows ? row_offsets[row] : 0, last = row < rows ? row_offsets[row + 1] : 0;

    // All teams of a block meet at its barriers, so that all go as many rounds as the longest row.
    if (lane == 0 && line == 0) {
        longest = 0;
        for (int64 r = (int64)blockIdx.x * LINES; r < (int64)(blockIdx.x + 1) * LINES && r < rows; r++)
            if (row_offsets[r + 1] - row_offsets[r] > longest)
                longest = row_offsets[r + 1] - row_offsets[r];
    }
    carried totals[COLUMNS];
    UNROLL
    for (int j = 0; j < COLUMNS; j++) totals[j] = 0;
    __syncthreads();
    for (INDEX done = 0; done < longest; done += ACROSS) {
        INDEX e = first + done + lane;
        if (e < last) {
            factors[line][lane] = taken(values[e]);
            lines[line][lane] = (int64)column_index[e] * width;
        }
        __syncthreads();
        INDEX left = last - first - done;
        for (int k = 0; k < ACROSS && k < left; k++) {
            carried factor = factors[line][k];
            int64 place = lines[line][k] + column;
            UNROLL
            for (int j = 0; j < COLUMNS; j++)
                if (column + j * ACROSS < width) totals[j] += factor * b[place + j * ACROSS];
        }
        __syncthreads();
    }
    if (row >= rows) return;
    UNROLL
    for (int j = 0; j < COLUMNS; j++)
        if (column + j * ACROSS < width) c[row * width + column + j * ACROSS] = totals[j];
}
