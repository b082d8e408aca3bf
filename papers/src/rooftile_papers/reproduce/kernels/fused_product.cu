// The milestone report's convolution: a product of matrices in tiles of TILE x TILE, a thread a
// result.  product.h names its operands and options; with UNROLLED the loop over a tile is written
// out by 16.
//
// Grid: x tiles of columns, y tiles of MAPS, z images where STAGED is 0.  Block: TILE x TILE.

#include "product.h"

#if UNROLLED
#define INNER UNROLL_BY(16)
#else
#define INNER ROLLED
#endif

__global__ void ENTRY(const GLOBAL float* ALONE x, const GLOBAL float* ALONE weights,
                       GLOBAL float* ALONE out, int columns MASK_ARGUMENT)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int map = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    const GLOBAL float* image = IMAGE;
    float sum = 0.0f;
    for (int first = 0; first < DEPTH; first += TILE) {
        int k = first + tx;
        left[ty][tx] = map < MAPS && k < DEPTH ? WEIGHT(map * DEPTH + k) : 0.0f;
        right[ty][tx] = unrolled(image, first + ty, column, columns);
        __syncthreads();
        INNER for (int i = 0; i < TILE; i++) sum += left[ty][i] * right[i][tx];
        __syncthreads();
    }
    if (map < MAPS && column < columns) RESULT[(size_t)map * columns + column] = sum;
}
