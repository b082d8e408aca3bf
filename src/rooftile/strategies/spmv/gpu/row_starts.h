// The first entry of each row among entries in the order of their rows.
//
// row_index[entries], row_offsets[rows + 1].
// Grid: x over blocks of rows, and one more.
// Block: x over any number of threads.

#pragma once

// Each row looks for the first entry that does not lie in a row before it: rows without entries, many
// one after another, take no longer than others.
__global__ void KERNEL(row_starts)(
    const GLOBAL INDEX* row_index, GLOBAL INDEX* row_offsets, int64 rows, int64 entries)
{
    int64 row = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (row > rows) return;
    int64 low = 0, high = entries;
    while (low < high) {
        int64 middle = (low + high) / 2;
        if (row_index[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    row_offsets[row] = (INDEX)low;
}
