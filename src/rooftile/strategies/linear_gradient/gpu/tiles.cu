// tiles: one block makes a tile of dweights from a part of the items, or a tile of dx.
//
// In `naive` every element reads all that it is made of from global memory, and the gradients
// before the activation are computed again for each.  Here a tile of 32 x 32 elements shares them in
// shared memory.  Both products, the bias and the derivatives are one launch: they read the same
// gradients, and none waits for another.  With PARTS > 1, sums are made by part of the items, and
// `finish` adds them in their order.
//
// x[images][INPUTS], y[images][OUTPUTS], dy[images][OUTPUTS], weights[OUTPUTS][INPUTS],
// dx[images][INPUTS], dweights[OUTPUTS][INPUTS], dbias[OUTPUTS],
// partial[PARTS][OUTPUTS][INPUTS + 1]: a row's weights, then its bias.
// Grid: x over the parts of tiles of dweights, then the tiles of dx.  Block: 32 x 8.

#include "common/activations.h"
#include "common/pipelines/pdl.h"

#define TILE 32
#define DEEP 8
#define ROWS_OF_THREAD (TILE / DEEP)
#define ACROSS ((INPUTS + TILE - 1) / TILE)
#define DOWN ((OUTPUTS + TILE - 1) / TILE)

#if PARTS > 1
#define PARTIAL_ARGUMENT GLOBAL float* __restrict__ partial,
#else
#define PARTIAL_ARGUMENT
#endif

// Gradients before the activation of 32 items and 32 outputs, zeros beyond either.
__device__ __forceinline__ void stage(const GLOBAL float* y, const GLOBAL float* dy,
                                      SHARED float (*dz)[TILE + 1], int item, int last, int output)
{
    for (int k = threadIdx.y; k < TILE; k += DEEP) {
        int n = item + k, o = output + threadIdx.x;
        int64 number = (int64)n * OUTPUTS + o;
        dz[k][threadIdx.x] =
            n < last && o < OUTPUTS ? dy[number] * derivative(ACTIVATION, y[number]) : 0.0f;
    }
}

__global__ void RESIDENT_BOUNDS(TILE * DEEP, 4)
tiles(const GLOBAL float* x, const GLOBAL float* y,
      const GLOBAL float* dy, const GLOBAL float* weights,
      GLOBAL float* __restrict__ dx, GLOBAL float* __restrict__ dweights,
      GLOBAL float* __restrict__ dbias, PARTIAL_ARGUMENT int images)
{
    __shared__ float dz[TILE][TILE + 1], other[TILE][TILE + 1];
    GRIDDEPCONTROL_WAIT();
    int tile = blockIdx.x, of_weights = tile < PARTS * DOWN * ACROSS;
    if (!of_weights) tile -= PARTS * DOWN * ACROSS;
    int i = tile % ACROSS * TILE + threadIdx.x, part = tile / (DOWN * ACROSS);
    // Of dweights the tile's first output, of dx its first item.
    int row = of_weights ? tile / ACROSS % DOWN * TILE : tile / ACROSS * TILE;
    int share = (images + PARTS - 1) / PARTS;
    // The terms of a sum: items of the part, or outputs.
    int first = of_weights ? part * share : 0;
    int end = !of_weights ? OUTPUTS : first + share < images ? first + share : images;
    float sum[ROWS_OF_THREAD] = {0.0f, 0.0f, 0.0f, 0.0f}, bias = 0.0f;
    // Sums of a tile by themselves: of equal terms, long sums round the same way again and again.

    for (int k = first; k < end; k += TILE) {
        __syncthreads();
        if (of_weights)
            stage(y, dy, dz, k, end, row);
        else
            stage(y, dy, dz, row, images, k);
        const GLOBAL float* from = of_weights ? x : weights;
        for (int d = threadIdx.y; d < TILE; d += DEEP)
            other[d][threadIdx.x] =
                k + d < end && i < INPUTS ? from[(int64)(k + d) * INPUTS + i] : 0.0f;
        __syncthreads();
        float run[ROWS_OF_THREAD] = {0.0f, 0.0f, 0.0f, 0.0f}, of_bias = 0.0f;
        UNROLL_BY(8) for (int d = 0; d < TILE; d++) {
            float factor = other[d][threadIdx.x];
            UNROLL for (int r = 0; r < ROWS_OF_THREAD; r++) {
                int of = threadIdx.y * ROWS_OF_THREAD + r;
                run[r] += (of_weights ? dz[d][of] : dz[of][d]) * factor;
            }
            of_bias += dz[d][threadIdx.x];
        }
        UNROLL for (int r = 0; r < ROWS_OF_THREAD; r++) sum[r] += run[r];
        bias += of_bias;
    }

    UNROLL for (int r = 0; r < ROWS_OF_THREAD; r++) {
        int at = row + threadIdx.y * ROWS_OF_THREAD + r;
        if (of_weights && at < OUTPUTS && i < INPUTS)
#if PARTS > 1
            partial[((int64)part * OUTPUTS + at) * (INPUTS + 1) + i] = sum[r];
#else
            dweights[(int64)at * INPUTS + i] = sum[r];
#endif
        if (!of_weights && at < images && i < INPUTS) {
            int64 pixel = (int64)at * INPUTS + i;
            dx[pixel] = sum[r] * derivative(BEFORE, x[pixel]);
        }
    }
    int output = row + threadIdx.x;
    if (of_weights && tile % ACROSS == 0 && threadIdx.y == 0 && output < OUTPUTS)
#if PARTS > 1
        partial[((int64)part * OUTPUTS + output) * (INPUTS + 1) + INPUTS] = bias;
#else
        dbias[output] = bias;
#endif
}

#if PARTS > 1
// Grid: x over the weights and biases.
__global__ void tiles_finish(const GLOBAL float* partial, GLOBAL float* __restrict__ dweights,
                             GLOBAL float* __restrict__ dbias)
{
    GRIDDEPCONTROL_WAIT();
    int64 column = (int64)blockIdx.x * 256 + threadIdx.x;
    if (column >= (int64)OUTPUTS * (INPUTS + 1)) return;
    float sum = 0.0f;
    UNROLL_BY(8) for (int part = 0; part < PARTS; part++)
        sum += partial[part * ((int64)OUTPUTS * (INPUTS + 1)) + column];
    int64 o = column / (INPUTS + 1), i = column % (INPUTS + 1);
    if (i < INPUTS)
        dweights[o * INPUTS + i] = sum;
    else
        dbias[o] = sum;
}
#endif
