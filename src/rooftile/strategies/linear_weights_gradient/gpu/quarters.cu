// quarters: the gradients of the weights and biases of one or two linear layers in one launch:
// dweights = dz^T x, and dbias is dz summed over the items.
//
// What it removes: of `naive` the loads of each factor for each weight.
//
// Nothing but the update waits for them, and the gradients of inputs run concurrently, so that all
// of them together should be as few launches as can be. A block makes a tile of 32 x 32 weights
// from a part of the items. Each quarter of its threads takes every fourth item, and a thread 4 x 4
// weights, so that two loads feed sixteen multiply-adds; what the quarters have is joined once.
//
// Of the layer before the last, where FEATURES is not 0: x[images][FEATURES], change[images][INPUTS]
// (the gradient before its activation), first_dweights[INPUTS][FEATURES], first_dbias[INPUTS].  Of
// the last: given[images][INPUTS], dz[images][OUTPUTS], dweights[OUTPUTS][INPUTS], dbias[OUTPUTS].
// partial[PARTS][ALL]: where there are several parts, the sums of each.
// Grid: x over the tiles of both layers, y over PARTS.  Block: 256.

#include "common/pipelines/pdl.h"
#include "put.h"

#define TILE 32
#define THREADS 256
#define QUARTERS 4
// Items that are in shared memory at a time.
#define DEEP 64
#define LOADS (DEEP * TILE / THREADS)
#define TILES_OF(outputs, inputs) (((outputs) + TILE - 1) / TILE * (((inputs) + TILE - 1) / TILE))
#if PARTS > 1
#define PARTIAL_ARGUMENT GLOBAL float *__restrict__ partial,
#else
#define PARTIAL_ARGUMENT
#endif
#define FIRST_TILES TILES_OF(INPUTS, FEATURES)

// A thread's elements of DEEP rows and TILE columns of an array, zeros beyond either.
__device__ __forceinline__ void read_tile(const GLOBAL float* from, int columns, int item, int last,
                                          int column, float* to)
{
    int c = column + threadIdx.x % TILE;
    UNROLL for (int k = 0; k < LOADS; k++) {
        int n = item + threadIdx.x / TILE + k * (THREADS / TILE);
        to[k] = n < last && c < columns ? from[(int64)n * columns + c] : 0.0f;
    }
}

// Adds the products of a quarter's items of a round to its threads' weights.
__device__ __forceinline__ void multiply(const SHARED float* of_dz, const SHARED float* of_x,
                                         float (*sum)[4])
{
    // Sums of a round by themselves: of equal terms, long sums round the same way again and again.
    float run[4][4];
    UNROLL for (int r = 0; r < 16; r++) run[r / 4][r % 4] = 0.0f;
    int quarter = threadIdx.x / 64, down = threadIdx.x / 8 % 8, across = threadIdx.x % 8;
    UNROLL_BY(4) for (int d = quarter; d < DEEP; d += QUARTERS) {
        float4 a = ((const SHARED float4*)of_dz)[d * (TILE / 4) + down];
        float4 b = ((const SHARED float4*)of_x)[d * (TILE / 4) + across];
        float row[4] = {a.x, a.y, a.z, a.w};
        UNROLL for (int r = 0; r < 4; r++) {
            run[r][0] += row[r] * b.x, run[r][1] += row[r] * b.y;
            run[r][2] += row[r] * b.z, run[r][3] += row[r] * b.w;
        }
    }
    UNROLL for (int r = 0; r < 16; r++) sum[r / 4][r % 4] += run[r / 4][r % 4];
}

__global__ void RESIDENT_BOUNDS(THREADS, 2)
quarters(const GLOBAL float* x, const GLOBAL float* change, const GLOBAL float* given,
               const GLOBAL float* dz, MADE_ARGUMENTS, PARTIAL_ARGUMENT
               int images)
{
    __shared__ float4 held[2 * DEEP * TILE / 4];
    __shared__ float of_bias[THREADS];
    SHARED float* of_dz = (SHARED float*)held;
    SHARED float* of_x = of_dz + DEEP * TILE;
    int tile = blockIdx.x, thread = threadIdx.x, is_first = FEATURES && tile < FIRST_TILES;
    if (FEATURES && !is_first) tile -= FIRST_TILES;
    int inputs = is_first ? FEATURES : INPUTS, outputs = is_first ? INPUTS : OUTPUTS;
    const GLOBAL float* values = is_first ? x : given;
    const GLOBAL float* gradients = is_first ? change : dz;
    int wide = (inputs + TILE - 1) / TILE;
    int column = tile % wide * TILE, row = tile / wide * TILE;
    int share = (images + PARTS - 1) / PARTS, item = blockIdx.y * share;
    int last = item + share < images ? item + share : images;
    float sum[4][4], bias = 0.0f, next_dz[LOADS], next_x[LOADS];
    UNROLL for (int r = 0; r < 16; r++) sum[r / 4][r % 4] = 0.0f;
    GRIDDEPCONTROL_WAIT();
    read_tile(gradients, outputs, item, last, row, next_dz);
    read_tile(values, inputs, item, last, column, next_x);
    for (; item < last; item += DEEP) {
        UNROLL for (int k = 0; k < LOADS; k++) {
            of_dz[k * THREADS + thread] = next_dz[k];
            of_x[k * THREADS + thread] = next_x[k];
        }
        __syncthreads();
        read_tile(gradients, outputs, item + DEEP, last, row, next_dz);
        read_tile(values, inputs, item + DEEP, last, column, next_x);
        multiply(of_dz, of_x, sum);
        if (column == 0)
            UNROLL for (int k = 0; k < LOADS; k++) bias += of_dz[k * THREADS + thread];
        __syncthreads();
    }

    int quarter = thread / 64, down = thread / 8 % 8, across = thread % 8;
    UNROLL for (int r = 0; r < 4; r++)
        held[quarter * (TILE * TILE / 4) + (4 * down + r) * (TILE / 4) + across] =
            make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
    of_bias[thread] = bias;
    __syncthreads();
    int begin = is_first ? 0 : FIRST_ALL;
#if PARTS > 1
#define KEEP(k, value) partial[(int64)blockIdx.y * ALL + (k)] = value
#else
#define KEEP(k, value) put(k, value, first_dweights, first_dbias, dweights, dbias)
#endif
    for (int k = thread; k < TILE * TILE; k += THREADS) {
        float whole = 0.0f;
        UNROLL for (int q = 0; q < QUARTERS; q++) whole += of_dz[q * TILE * TILE + k];
        int o = row + k / TILE, i = column + k % TILE;
        if (o < outputs && i < inputs) KEEP(begin + o * inputs + i, whole);
    }
    if (column == 0 && thread < TILE && row + thread < outputs) {
        float whole = 0.0f;
        UNROLL for (int q = 0; q < THREADS / TILE; q++) whole += of_bias[q * TILE + thread];
        KEEP(begin + outputs * inputs + row + thread, whole);
    }
}

#if PARTS > 1
// The sums over the parts, in their order.  Grid: x over all gradients.
__global__ void quarters_finish(const GLOBAL float* partial, MADE_ARGUMENTS)
{
    GRIDDEPCONTROL_WAIT();
    int k = blockIdx.x * THREADS + threadIdx.x;
    if (k >= ALL) return;
    float sum = 0.0f;
    UNROLL_BY(8) for (int part = 0; part < PARTS; part++) sum += partial[(int64)part * ALL + k];
    put(k, sum, first_dweights, first_dbias, dweights, dbias);
}
#endif
