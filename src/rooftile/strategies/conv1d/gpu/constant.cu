// constant: the mask in constant memory.
//
// All threads of a warp need the same tap at the same time; constant memory has a cache of its
// own that hands one word to all of them, as an operand of the multiply-add.  It holds 65,536
// bytes, so larger weights go by slices of SLICE_MAPS whole maps, each a launch of its own.  What
// it removes: half of the loads.
//
// x[images][CHANNELS][length], taps[SLICE_MAPS][CHANNELS][MASK], out[images][MAPS][outputs];
// `first` is the slice's first map.
// Grid: x over blocks of outputs, y over images x SLICE_MAPS.
// Block: x over BLOCK outputs.

#include "conv1d.h"

CONSTANT_ARRAY(float, taps, SLICE_MAPS * CHANNELS * MASK)

__global__ void LAUNCH_BOUNDS(BLOCK)
constant_memory(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out, int64 length,
                int64 outputs, int images, int first CONSTANT_ARGUMENT(float, taps))
{
    int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= outputs) return;
    for (int64 unit = blockIdx.y; unit < (int64)images * SLICE_MAPS; unit += gridDim.y) {
        int64 n = unit / SLICE_MAPS;
        int slot = unit % SLICE_MAPS, m = first + slot;
        if (m >= MAPS) continue;
        float sum = 0.0f;
        for (int c = 0; c < CHANNELS; c++) {
            const GLOBAL float* signal = x + (n * CHANNELS + c) * length;
            UNROLL for (int begin = 0; begin < MASK; begin += PART_TAPS) {
                float part = 0.0f;
                UNROLL for (int q = begin; q < PART_END(begin); q++)
                    part += taps[(slot * CHANNELS + c) * MASK + q] *
                            element(signal, i + q - BEFORE, length);
                sum += part;
            }
        }
        out[(n * MAPS + m) * outputs + i] = kept(sum, i, length);
    }
}
