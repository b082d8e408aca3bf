// gathered: one thread gathers four channels of one pixel, gradients in shared memory.
//
// In `naive` every pixel of every channel reads the gradients that it met, their places and one
// weight for each from global memory.  Here a block has all gradients of some maps of its image in
// shared memory, places as row and column, and their weights with four channels side by side: one
// load brings a gradient and its place, one four weights.  What a pixel met is the same of all maps,
// which are the innermost loop.  Behind a max-pool these are the winners
// alone.  What it removes: reads of global memory, divisions, and three of four looks at a place.
// It gathers and does not scatter: nobody writes where another writes, so that no atomic is
// needed and sums have the same order in every run.
//
// dy and where: see common/places.h, x: see before.h, weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// dx[images][CHANNELS][HEIGHT][WIDTH].
// Grid: x over images times the blocks of an image's pixels; y over four channels each.

#include "common/pipelines/pdl.h"
#include "conv2d_input_gradient/gpu/before.h"
#include "conv2d_input_gradient/gpu/met.h"

#define ACROSS ((HEIGHT * WIDTH + BLOCK - 1) / BLOCK)
#ifdef __OPENCL_VERSION__
#define FLOAT_BITS(value) as_int(value)
#else
#define FLOAT_BITS(value) __float_as_int(value)
#endif

__global__ void LAUNCH_BOUNDS(BLOCK)
gathered(const GLOBAL float* dy, WHERE_ARGUMENT X_ARGUMENT const GLOBAL float* weights,
         GLOBAL float* __restrict__ dx)
{
    __shared__ float4 taps[TILE_MAPS * TAPS];
    // A gradient's bits, and the place of the output's first pixel: its row in the upper bits, its
    // column in the lower.
    __shared__ int2 held[TILE_MAPS * GRADIENTS];
    GRIDDEPCONTROL_WAIT();
    int n = blockIdx.x / ACROSS, channel = blockIdx.y * 4;
    int pixel = blockIdx.x % ACROSS * BLOCK + threadIdx.x;
    int i = pixel / WIDTH + PAD_Y, j = pixel % WIDTH + PAD_X;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    for (int first = 0; first < MAPS; first += TILE_MAPS) {
        int maps = MAPS - first < TILE_MAPS ? MAPS - first : TILE_MAPS;
        __syncthreads();
        for (int at = threadIdx.x; at < maps * GRADIENTS; at += BLOCK) {
            int64 number = ((int64)n * MAPS + first) * GRADIENTS + at;
            spot met = SPOT(number, at % GRADIENTS);
            int2 one;
            one.x = FLOAT_BITS(PLACED_GRADIENT(number, dy[number]));
            one.y = met.row * STRIDE_Y << 16 | met.column * STRIDE_X;
            held[at] = one;
        }
        for (int at = threadIdx.x; at < maps * TAPS; at += BLOCK) {
            const GLOBAL float* from =
                weights + ((int64)(first + at / TAPS) * CHANNELS + channel) * TAPS + at % TAPS;
            float four[4];
            UNROLL for (int c = 0; c < 4; c++)
                four[c] = channel + c < CHANNELS ? from[c * TAPS] : 0.0f;
            taps[at] = make_float4(four[0], four[1], four[2], four[3]);
        }
        __syncthreads();
        for (int r = FIRST_ROW(i); ROW_MET(r, i); r++)
            for (int c = FIRST_COLUMN(j); COLUMN_MET(c, j); c++)
                UNROLL_BY(4) for (int m = 0; m < maps; m++) {
                    int2 one = held[m * GRADIENTS + r * COLUMNS + c];
                    int p = i - (one.y >> 16), q = j - (one.y & 0xffff);
                    if (p >= 0 && p < MASK_HEIGHT && q >= 0 && q < MASK_WIDTH) {
                        float gradient = __int_as_float(one.x);
                        float4 tap = taps[m * TAPS + p * MASK_WIDTH + q];
                        sum[0] += gradient * tap.x, sum[1] += gradient * tap.y;
                        sum[2] += gradient * tap.z, sum[3] += gradient * tap.w;
                    }
                }
    }

    UNROLL for (int c = 0; c < 4; c++) {
        int64 element = ((int64)n * CHANNELS + channel + c) * HEIGHT * WIDTH + pixel;
        if (pixel < HEIGHT * WIDTH && channel + c < CHANNELS)
            dx[element] = TIMES_DERIVATIVE(sum[c], element);
    }
}
