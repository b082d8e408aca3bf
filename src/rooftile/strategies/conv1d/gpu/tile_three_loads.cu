// tile_three_loads: a tile of the signal in shared memory, loaded in three parts.
//
// In `constant` every element of the signal is loaded MASK times.  Here a block loads its tile
// once: the last BEFORE threads the halo on the left, all of them the core, the first BEHIND threads
// the halo on the right; then each thread sums from shared memory.  What it removes: repeated
// reads of global memory; what it costs: a barrier, and warps that diverge at either halo.
//
// x[images][CHANNELS][length], taps[SLICE_MAPS][CHANNELS][MASK], out[images][MAPS][outputs];
// `first` is the slice's first map.
// Grid: x over tiles of BLOCK outputs, y over images x SLICE_MAPS.
// Block: x over BLOCK outputs.

#include "conv1d.h"

CONSTANT_ARRAY(float, taps, SLICE_MAPS * CHANNELS * MASK)

__global__ void LAUNCH_BOUNDS(BLOCK)
tile_three_loads(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out, int64 length,
                 int64 outputs, int images, int first CONSTANT_ARGUMENT(float, taps))
{
    __shared__ float tile[BLOCK + MASK - 1];
    int thread = threadIdx.x;
    int64 start = (int64)blockIdx.x * BLOCK, i = start + thread;
    for (int64 unit = blockIdx.y; unit < (int64)images * SLICE_MAPS; unit += gridDim.y) {
        int64 n = unit / SLICE_MAPS;
        int slot = unit % SLICE_MAPS, m = first + slot;
        // All threads of a block have the same map.
        if (m >= MAPS) continue;
        float sum = 0.0f;
        for (int c = 0; c < CHANNELS; c++) {
            const GLOBAL float* signal = x + (n * CHANNELS + c) * length;
            if (thread >= BLOCK - BEFORE)
                tile[thread - (BLOCK - BEFORE)] = element(signal, i - BLOCK, length);
            tile[BEFORE + thread] = element(signal, i, length);
            if (thread < BEHIND)
                tile[BEFORE + BLOCK + thread] = element(signal, i + BLOCK, length);
            __syncthreads();
            UNROLL for (int begin = 0; begin < MASK; begin += PART_TAPS) {
                float part = 0.0f;
                UNROLL for (int q = begin; q < PART_END(begin); q++)
                    part += taps[(slot * CHANNELS + c) * MASK + q] * tile[thread + q];
                sum += part;
            }
            // The next channel, or unit, overwrites what this one's sums have read.
            __syncthreads();
        }
        if (i < outputs) out[(n * MAPS + m) * outputs + i] = kept(sum, i, length);
    }
}
