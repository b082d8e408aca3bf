// tile_input: a tile of the signal in shared memory, a thread for each of its elements.
//
// The block is as large as the input tile, so that each thread loads one element, without a test;
// the last MASK - 1 threads make no output.  What it removes: the second load; what it costs:
// threads that idle in the sums.
//
// x[images][CHANNELS][length], taps[SLICE_MAPS][CHANNELS][MASK], out[images][MAPS][outputs];
// `first` is the slice's first map.
// Grid: x over tiles of TILE outputs, y over images x SLICE_MAPS.
// Block: x over BLOCK elements of the tile, TILE of which make an output.

#include "conv1d.h"

CONSTANT_ARRAY(float, taps, SLICE_MAPS * CHANNELS * MASK)

#define TILE (BLOCK - MASK + 1)

__global__ void LAUNCH_BOUNDS(BLOCK)
tile_input(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out, int64 length,
           int64 outputs, int images, int first CONSTANT_ARGUMENT(float, taps))
{
    __shared__ float tile[BLOCK];
    int thread = threadIdx.x;
    int64 start = (int64)blockIdx.x * TILE, i = start + thread;
    for (int64 unit = blockIdx.y; unit < (int64)images * SLICE_MAPS; unit += gridDim.y) {
        int64 n = unit / SLICE_MAPS;
        int slot = unit % SLICE_MAPS, m = first + slot;
        // All threads of a block have the same map.
        if (m >= MAPS) continue;
        float sum = 0.0f;
        for (int c = 0; c < CHANNELS; c++) {
            const GLOBAL float* signal = x + (n * CHANNELS + c) * length;
            tile[thread] = element(signal, i - BEFORE, length);
            __syncthreads();
            if (thread < TILE) {
                UNROLL for (int begin = 0; begin < MASK; begin += PART_TAPS) {
                    float part = 0.0f;
                    UNROLL for (int q = begin; q < PART_END(begin); q++)
                        part += taps[(slot * CHANNELS + c) * MASK + q] * tile[thread + q];
                    sum += part;
                }
            }
            // The next channel, or unit, overwrites what this one's sums have read.
            __syncthreads();
        }
        if (thread < TILE && i < outputs) out[(n * MAPS + m) * outputs + i] = kept(sum, i, length);
    }
}
