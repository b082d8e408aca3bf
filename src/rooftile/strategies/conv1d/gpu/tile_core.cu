// tile_core: only the core of the tile in shared memory.
//
// A block's halo is the core of its neighbours, which read it at about the same time, so it comes from
// global memory through the cache.  What it removes: every load but one a thread; what it costs: a
// test at each tap.
//
// x[images][CHANNELS][length], taps[SLICE_MAPS][CHANNELS][MASK], out[images][MAPS][outputs];
// `first` is the slice's first map.
// Grid: x over tiles of BLOCK outputs, y over images x SLICE_MAPS.
// Block: x over BLOCK outputs.

#include "conv1d.h"

CONSTANT_ARRAY(float, taps, SLICE_MAPS * CHANNELS * MASK)

__global__ void LAUNCH_BOUNDS(BLOCK)
tile_core(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out, int64 length,
          int64 outputs, int images, int first CONSTANT_ARGUMENT(float, taps))
{
    __shared__ float tile[BLOCK];
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
            tile[thread] = element(signal, i, length);
            __syncthreads();
            UNROLL for (int begin = 0; begin < MASK; begin += PART_TAPS) {
                float part = 0.0f;
                UNROLL for (int q = begin; q < PART_END(begin); q++) {
                    int at = thread + q - BEFORE, near = at < 0 ? 0 : at < BLOCK ? at : BLOCK - 1;
                    float value = tile[near];
                    if (at != near) value = element(signal, start + at, length);
                    part += taps[(slot * CHANNELS + c) * MASK + q] * value;
                }
                sum += part;
            }
            // The next channel, or unit, overwrites what this one's sums have read.
            __syncthreads();
        }
        if (i < outputs) out[(n * MAPS + m) * outputs + i] = kept(sum, i, length);
    }
}
