// one_block: the classroom's first kernel, one block for everything.
//
// Thread t makes the outputs t, t + BLOCK, and so on.  Nothing is faster than a serial loop but
// that BLOCK threads take turns, all on one multiprocessor: the others idle.
//
// x[images][CHANNELS][length], weights[MAPS][CHANNELS][MASK], out[images][MAPS][outputs].
// Grid: one block.
// Block: x over BLOCK outputs.

#include "conv1d.h"

__global__ void one_block(const GLOBAL float* x, const GLOBAL float* weights, GLOBAL float* out,
                          int64 length, int64 outputs, int images)
{
    for (int64 row = 0; row < (int64)images * MAPS; row++)
        for (int64 i = threadIdx.x; i < outputs; i += BLOCK) {
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
