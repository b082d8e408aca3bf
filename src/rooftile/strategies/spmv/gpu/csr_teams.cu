// csr_teams: TEAM threads a row, and a tree.
//
// What it removes: in `csr_threads` neighbours read entries that lie apart; here a team's lie side by
// side.  What it costs: rows shorter than a team leave threads idle, and the longest row still keeps
// one team at work.
//
// values[entries], column_index[entries], row_offsets[rows + 1], x[columns], y[rows].
// Grid: x over runs of ROWS rows.
// Block: x over TEAM (a power of two) threads, y over ROWS rows.

#include "spmv.h"

__global__ void LAUNCH_BOUNDS(TEAM * ROWS)
csr_teams(const GLOBAL given* __restrict__ values, const GLOBAL INDEX* __restrict__ column_index,
          const GLOBAL INDEX* __restrict__ row_offsets,
          const GLOBAL carried* __restrict__ x UPDATE_ARGUMENTS, GLOBAL carried* __restrict__ y,
          int64 rows)
{
    __shared__ carried sums[TEAM * ROWS];
    int lane = threadIdx.x, thread = threadIdx.y * TEAM + lane;
    int64 row = (int64)blockIdx.x * ROWS + threadIdx.y;
    carried total = 0;
    if (row < rows) {
        INDEX last = row_offsets[row + 1];
        for (INDEX e = row_offsets[row] + lane; e < last; e += TEAM)
            total += taken(values[e]) * x[column_index[e]];
    }
    sums[thread] = total;
    for (int reach = TEAM / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (lane < reach) sums[thread] += sums[thread + reach];
    }
    if (lane == 0 && row < rows) y[row] = FINISHED(row, sums[thread]);
}
