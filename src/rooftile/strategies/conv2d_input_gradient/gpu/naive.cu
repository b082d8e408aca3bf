// naive: one thread gathers one pixel's gradient of one channel.
//
// dy and where: see common/places.h, x: see before.h, weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// dx[images][CHANNELS][HEIGHT][WIDTH].
// Grid: x over the elements of dx.

#include "conv2d_input_gradient/gpu/before.h"
#include "conv2d_input_gradient/gpu/met.h"

__global__ void naive(const GLOBAL float* __restrict__ dy, WHERE_ARGUMENT X_ARGUMENT
                      const GLOBAL float* __restrict__ weights,
                      GLOBAL float* __restrict__ dx, int images)
{
    int64 element = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (element >= (int64)images * CHANNELS * HEIGHT * WIDTH) return;

    int i = (int)(element / WIDTH % HEIGHT) + PAD_Y, j = (int)(element % WIDTH) + PAD_X;
    int channel = (int)(element / (HEIGHT * WIDTH) % CHANNELS);
    int64 n = element / ((int64)CHANNELS * HEIGHT * WIDTH);
    float sum = 0.0f;
    for (int m = 0; m < MAPS; m++) {
        const GLOBAL float* mask = weights + ((int64)m * CHANNELS + channel) * TAPS;
        for (int r = FIRST_ROW(i); ROW_MET(r, i); r++)
            for (int c = FIRST_COLUMN(j); COLUMN_MET(c, j); c++) {
                int e = r * COLUMNS + c;
                int64 number = (n * MAPS + m) * GRADIENTS + e;
                spot met = SPOT(number, e);
                int p = i - met.row * STRIDE_Y, q = j - met.column * STRIDE_X;
                if (p >= 0 && p < MASK_HEIGHT && q >= 0 && q < MASK_WIDTH)
                    sum += PLACED_GRADIENT(number, dy[number]) * mask[p * MASK_WIDTH + q];
            }
    }
    dx[element] = TIMES_DERIVATIVE(sum, element);
}
