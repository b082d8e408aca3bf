// naive: the column's sums of whole images into memory, then the row's sums of these.
//
// Each pass is a convolution along one axis, a thread an output. The sums between the passes, ghost
// columns' included, go to memory and come back, which is as much traffic again
// as input and output.
//
// x[images][height][width], column[HIGH], row[WIDE], sums[images][rows][columns + WIDE - 1],
// out[images][rows][columns].
// Grid: x over blocks of columns, y over rows, z over images.
// Block: x over BLOCK columns.

#include "separable.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
naive_down(
    const GLOBAL float* x, const GLOBAL float* column, GLOBAL float* sums, int height, int width,
    int rows, int columns, int images)
{
    int j = blockIdx.x * BLOCK + threadIdx.x, wide = columns + WIDE - 1;
    if (j >= wide) return;
    for (int n = blockIdx.z; n < images; n += gridDim.z) {
        const GLOBAL float* image = x + (int64)n * height * width;
        for (int i = blockIdx.y; i < rows; i += gridDim.y) {
            float sum = 0.0f;
            for (int begin = 0; begin < HIGH; begin += PART_TAPS) {
                float part = 0.0f;
                for (int p = begin; p < PART_END(begin, HIGH); p++)
                    part += column[p] * element(image, i + p - TOP, j - LEFT, height, width);
                sum += part;
            }
            sums[((int64)n * rows + i) * wide + j] = sum;
        }
    }
}

__global__ void LAUNCH_BOUNDS(BLOCK)
naive_across(
    const GLOBAL float* sums, const GLOBAL float* row, GLOBAL float* out, int rows, int columns,
    int images)
{
    int j = blockIdx.x * BLOCK + threadIdx.x, wide = columns + WIDE - 1;
    if (j >= columns) return;
    for (int n = blockIdx.z; n < images; n += gridDim.z)
        for (int i = blockIdx.y; i < rows; i += gridDim.y) {
            const GLOBAL float* from = sums + ((int64)n * rows + i) * wide + j;
            float sum = 0.0f;
            for (int begin = 0; begin < WIDE; begin += PART_TAPS) {
                float part = 0.0f;
                for (int q = begin; q < PART_END(begin, WIDE); q++) part += row[q] * from[q];
                sum += part;
            }
            out[((int64)n * rows + i) * columns + j] = sum;
        }
}
