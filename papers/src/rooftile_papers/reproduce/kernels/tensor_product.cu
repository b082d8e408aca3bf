// The milestone report's convolution on tensor cores: a block's tile of TILE_MAPS x TILE_COLUMNS is
// made of squares of 16 x 16, one a warp.  product.h names its operands and options; with UNROLLED
// the loop over the depth is written out by 4.
//
// Operands are rounded to CORES on their way to shared memory.  The block has WARPS warps; where it
// has fewer squares, the rest of them only load, as in the report, whose FP16 kernel lets one warp
// of eight multiply.
//
// Grid: x tiles of columns, y tiles of MAPS, z images where STAGED is 0.  Block: WARPS x 32.

#include "product.h"
#include "warp_squares.h"

#define THREADS (32 * WARPS)
#define SQUARES_ACROSS (TILE_COLUMNS / 16)
#define SQUARES (TILE_MAPS / 16 * SQUARES_ACROSS)
#if UNROLLED
#define STEPS UNROLL_BY(4)
#else
#define STEPS ROLLED
#endif

__global__ void LAUNCH_BOUNDS(THREADS)
ENTRY(const GLOBAL float* ALONE x, const GLOBAL float* ALONE weights, GLOBAL float* ALONE out,
       int columns MASK_ARGUMENT)
{
    __shared__ __align__(32) operand left[TILE_MAPS][SQUARE_DEPTH];
    __shared__ __align__(32) operand right[SQUARE_DEPTH][TILE_COLUMNS];
    __shared__ __align__(32) float results[TILE_MAPS][TILE_COLUMNS];
    int first_map = blockIdx.y * TILE_MAPS, first_column = blockIdx.x * TILE_COLUMNS;
    int square = threadIdx.x / 32, top = square / SQUARES_ACROSS * 16;
    int side = square % SQUARES_ACROSS * 16;
    const GLOBAL float* image = IMAGE;
    float sums[8] = {0.0f};
    STEPS for (int first = 0; first < DEPTH; first += SQUARE_DEPTH) {
        for (int e = threadIdx.x; e < TILE_MAPS * SQUARE_DEPTH; e += THREADS) {
            int map = first_map + e / SQUARE_DEPTH, k = first + e % SQUARE_DEPTH;
            float weight = map < MAPS && k < DEPTH ? WEIGHT(map * DEPTH + k) : 0.0f;
            left[e / SQUARE_DEPTH][e % SQUARE_DEPTH] = as_operand(weight);
        }
        for (int e = threadIdx.x; e < SQUARE_DEPTH * TILE_COLUMNS; e += THREADS) {
            int k = e / TILE_COLUMNS, column = e % TILE_COLUMNS;
            right[k][column] =
                as_operand(unrolled(image, first + k, first_column + column, columns));
        }
        __syncthreads();
        if (square < SQUARES)
            add_square(sums, &left[top][0], SQUARE_DEPTH, &right[0][side], TILE_COLUMNS);
        __syncthreads();
    }
    if (square < SQUARES) store_square(&results[top][side], sums, TILE_COLUMNS);
    __syncthreads();
    for (int e = threadIdx.x; e < TILE_MAPS * TILE_COLUMNS; e += THREADS) {
        int map = first_map + e / TILE_COLUMNS, column = first_column + e % TILE_COLUMNS;
        if (map < MAPS && column < columns)
            RESULT[(size_t)map * columns + column] = results[e / TILE_COLUMNS][e % TILE_COLUMNS];
    }
}
