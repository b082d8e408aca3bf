// tiled: both matrices pass through shared memory in square tiles.
//
// In `naive`, every input and every weight is read again for each output that needs it.  Here a
// block makes TILE x TILE outputs; its threads load a tile of each matrix together, neighbours
// reading neighbouring words, and each value then serves TILE threads.  What it removes: all but
// one in TILE of the reads of global memory, and the strides between those that remain.
//
// x[images][INPUTS], weights[OUTPUTS][INPUTS], bias[OUTPUTS], out[images][OUTPUTS].
// Grid: x over tiles of outputs, then of images.  Block: TILE x TILE threads, an output each.

#include "gemm/gpu/epilogue.h"

#define TILES_ACROSS ((OUTPUTS + TILE - 1) / TILE)

__global__ void LAUNCH_BOUNDS(TILE * TILE)
tiled(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
      const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    // One column more than is used: threads read down the columns, which lie in different banks.
    __shared__ float inputs[TILE][TILE];
    __shared__ float rows[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int first_output = blockIdx.x % TILES_ACROSS * TILE;
    int64 first_image = (int64)(blockIdx.x / TILES_ACROSS) * TILE;
    int64 n = first_image + ty;
    int loaded = first_output + ty, o = first_output + tx;

    float sum = 0.0f;
    for (int start = 0; start < INPUTS; start += TILE) {
        int i = start + tx;
        inputs[ty][tx] = n < images && i < INPUTS ? x[(size_t)n * INPUTS + i] : 0.0f;
        rows[ty][tx] =
            loaded < OUTPUTS && i < INPUTS ? weights[(size_t)loaded * INPUTS + i] : 0.0f;
        __syncthreads();
        // A tile's products are added by themselves, as in `naive`.
        float run = 0.0f;
        UNROLL for (int k = 0; k < TILE; k++) run += inputs[ty][k] * rows[tx][k];
        sum += run;
        __syncthreads();
    }
    if (n < images && o < OUTPUTS) out[(size_t)n * OUTPUTS + o] = activate(sum + bias[o]);
}
