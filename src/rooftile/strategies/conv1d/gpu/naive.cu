// naive: a thread an output, as many blocks as that takes.
//
// What it removes: the multiprocessors that `one_block` leaves idle.  Every tap is a load of the
// mask and one of the signal.
//
// x[images][CHANNELS][length], weights[MAPS][CHANNELS][MASK], out[images][MAPS][outputs].
// Grid: x over blocks of outputs, y over images x MAPS.
// Block: x over BLOCK outputs.

#include "conv1d.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
naive(const GLOBAL float* x, const GLOBAL float* weights, GLOBAL float* out, int64 length,
      int64 outputs, int images)
{
    int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= outputs) return;
    for (int64 row = blockIdx.y; row < (int64)images * MAPS; row += gridDim.y) {
        float sum = 0.0f;
        for (int c = 0; c < CHANNELS; c++) {
            const GLOBAL float* signal = x + (row / MAPS * CHANNELS + c) * length;
            const GLOBAL float* mask = weights + (row % MAPS * CHANNELS + c) * MASK;
            for (int begin = 0; begin < MASK; begin += PART_TAPS) {
                float part = 0.0f;
                for (int q = begin; q < PART_END(begin); q++)
                    part += mask[q] * element(signal, i + q - BEFORE, length);
                sum += part;
            }
        }
        out[row * outputs + i] = kept(sum, i, length);
    }
}
