// im2col: the convolution as a product of two matrices.
//
// A convolution output is a row of the weights times a column of unrolled inputs, so the
// sum becomes a matrix product, whose tiles in shared memory are read TILE_MAPS and
// TILE_COLUMNS times for one load.  The price is the unrolled matrix: every input is
// written to memory once for each tap that meets it, and read back.  A slice of images at
// a time passes through, so that the matrix stays under a stated size.
//
// x[..][CHANNELS][HEIGHT][WIDTH], weights[MAPS][FILTER_SIZE], bias[MAPS],
// matrix[FILTER_SIZE][images][PLANE_SIZE], sums[MAPS][images][PLANE_SIZE],
// out[..][MAPS][ROWS][COLUMNS]; `images` of the slice, the first of them `first`.

#include "conv2d/gpu/conv2d.h"

// Grid: x over a plane in blocks of THREADS, y over taps, z over images.
__global__ void im2col_unroll(const GLOBAL float* x, GLOBAL float* matrix, int first, int images)
{
    int position = blockIdx.x * THREADS + threadIdx.x;
    if (position >= PLANE_SIZE) return;

    int top = READ_ROW(position / READ_COLUMNS) * STRIDE_Y - PAD_Y;
    int left = READ_COLUMN(position % READ_COLUMNS) * STRIDE_X - PAD_X;
    for (int n = blockIdx.z; n < images; n += gridDim.z) {
        const GLOBAL float* image = x + ((size_t)first + n) * IMAGE_SIZE;
        for (int tap = blockIdx.y; tap < FILTER_SIZE; tap += gridDim.y) {
            int c = tap / MASK_SIZE, p = tap % MASK_SIZE / MASK_WIDTH, q = tap % MASK_WIDTH;
            matrix[((size_t)tap * images + n) * PLANE_SIZE + position] =
                pixel(image + c * HEIGHT * WIDTH, top + p, left + q);
        }
    }
}

// sums = weights x matrix.  Grid: x over columns, y over maps, in tiles of TILE_COLUMNS x
// TILE_MAPS; a thread makes one element.
__global__ void im2col_multiply(const GLOBAL float* weights, const GLOBAL float* matrix,
                                GLOBAL float* sums, int columns)
{
    __shared__ float left[TILE_MAPS][TILE_TAPS];
    __shared__ float right[TILE_TAPS][TILE_COLUMNS];
    int x = threadIdx.x, y = threadIdx.y;
    int column = blockIdx.x * TILE_COLUMNS + x;
    int top = blockIdx.y * TILE_MAPS;

    float sum = 0.0f;
    for (int start = 0; start < FILTER_SIZE; start += TILE_TAPS) {
        // Beyond the last tap both factors are zero, so that no infinity meets a zero there.
        for (int e = y * TILE_COLUMNS + x; e < TILE_MAPS * TILE_TAPS;
             e += TILE_MAPS * TILE_COLUMNS) {
            int m = top + e / TILE_TAPS, tap = start + e % TILE_TAPS;
            left[e / TILE_TAPS][e % TILE_TAPS] =
                m < MAPS && tap < FILTER_SIZE ? weights[(size_t)m * FILTER_SIZE + tap] : 0.0f;
        }
        for (int k = y; k < TILE_TAPS; k += TILE_MAPS)
            right[k][x] = column < columns && start + k < FILTER_SIZE
                              ? matrix[(size_t)(start + k) * columns + column]
                              : 0.0f;
        __syncthreads();
        UNROLL for (int k = 0; k < TILE_TAPS; k++) sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    if (top + y < MAPS && column < columns) sums[(size_t)(top + y) * columns + column] = sum;
}

// Bias, activation, pool, and the maps from the outermost dimension into each image.
// Grid: x over the slice's results in blocks of THREADS.
__global__ void im2col_finish(const GLOBAL float* sums, const GLOBAL float* bias, GLOBAL float* out,
                              int first, int images)
{
    int64 result = (int64)blockIdx.x * THREADS + threadIdx.x;
    if (result >= (int64)images * RESULT_SIZE) return;

    int n = (int)(result / RESULT_SIZE), inside = (int)(result % RESULT_SIZE);
    int m = inside / (ROWS * COLUMNS), row = inside / COLUMNS % ROWS, column = inside % COLUMNS;
    const GLOBAL float* plane = sums + ((size_t)m * images + n) * PLANE_SIZE;
    out[(size_t)first * RESULT_SIZE + result] = finished(plane, bias[m], row, column);
}
