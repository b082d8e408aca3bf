// Pixels of which zeros times infinities made NaN, made anew from what they met.

#pragma once

#include "conv2d_input_gradient/gpu/brought.h"

// Makes NaN among MENDED pixels anew, where zeros met an infinity.
__device__ __noinline__ void mend(const gradient_number* dy,
                                  WHERE_ARGUMENT X_ARGUMENT const float* weights, result* dx, int n,
                                  int channel, int y, int left)
{
    int64 row = (((int64)n * CHANNELS + channel) * HEIGHT + y) * WIDTH;
    for (int j = left < 0 ? 0 : left; j < left + MENDED && j < WIDTH; j++)
        if (IS_NAN(dx[row + j])) {
            float sum = met(dy, where, weights, n, channel, y + PAD_Y, j + PAD_X);
            dx[row + j] = RESULT(TIMES_DERIVATIVE(sum, row + j));
        }
}
