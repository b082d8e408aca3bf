// Where rows begin among entries that lie in the order of their rows.
//
// row_index[entries], row_offsets[rows + 1].
// Grid: x over blocks of entries.
// Block: x over THREADS threads.

#pragma once

// Each entry that is the first of its row says so for that row, and for the empty ones before it.
__global__ void row_starts(const GLOBAL INDEX* row_index, GLOBAL INDEX* row_offsets, int64 rows,
                           int64 entries)
{
    int64 e = (int64)blockIdx.x * THREADS + threadIdx.x;
    if (e >= entries) return;
    int64 before = e > 0 ? row_index[e - 1] : -1;
    for (int64 row = before + 1; row <= row_index[e]; row++) row_offsets[row] = (INDEX)e;
    if (e == entries - 1)
        for (int64 row = row_index[e] + 1; row <= rows; row++) row_offsets[row] = (INDEX)entries;
}
