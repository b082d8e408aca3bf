// A weight's terms, in texts that read them from global memory.

#pragma once

#include "conv2d_weights_gradient/gpu/gradient.h"

#define WEIGHTS ((int64)MAPS * CHANNELS * TAPS)

// The pixel of image n that a weight met at an output's place; zero beyond the image.
__device__ __forceinline__ float seen(const GLOBAL float* x, int64 n, int64 weight, spot met)
{
    int tap = (int)(weight % TAPS), channel = (int)(weight / TAPS % CHANNELS);
    int i = met.row * STRIDE_Y + tap / MASK_WIDTH - PAD_Y;
    int j = met.column * STRIDE_X + tap % MASK_WIDTH - PAD_X;
    if (i < 0 || i >= HEIGHT || j < 0 || j >= WIDTH) return 0.0f;
    return x[((n * CHANNELS + channel) * HEIGHT + i) * WIDTH + j];
}
