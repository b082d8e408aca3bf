// rows: a thread a row.
//
// rows[height][width], numbers[height], counts[height].
// Grid: x over blocks of rows.
// Block: x over BLOCK rows.

__global__ void agreeing(const GLOBAL unsigned char* rows, const GLOBAL int* numbers,
                         GLOBAL int64* counts, int height, int width)
{
    int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= height) return;
    int64 found = 0;
    for (int j = 0; j < width; j++)
        if ((rows[row * (int64)width + j] & 7) == (numbers[row] & 7)) found++;
    counts[row] = found;
}
