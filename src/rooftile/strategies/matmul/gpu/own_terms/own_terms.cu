// own_terms: every warp of a block multiplies terms of its own on tensor cores.
//
// As in `warps_terms` a block has a small tile, each warp makes all of it from its own terms, and at
// the end their sums are added.  But no two warps want the same elements, and which term is which of
// an instruction's is free, as long as both sides agree.  So a lane loads what it multiplies, neighbours
// of a line, from memory to registers: nothing passes through shared memory and nobody waits for
// others before the sums are added.
// With two NUMBERS, float32 is split in two of TF32, x = high + low, and three products stand for one;
// the fourth is too small.  Together they have 22 of 24 bits, and float32's range; but low numbers are
// lost for numbers below SMALL, and an infinity less itself is NaN: such results are computed from their
// definition.
// What it removes: instructions, and most waits, of a small product.
//
// a, b, out: see operands.h.  A_WHOLE and B_WHOLE: whether lines begin on 16 bytes.
// Grid: x over tiles of results, along a row of tiles first.  Block: WARPS warps.

#include "common/pipelines/pdl.h"
#include "matmul/gpu/own_terms/operands.h"

#define DEEP (WARPS * WARP_TERMS)
#define PLACES (TILE_R * TILE_C)
// Blocks of a multiprocessor: the next launch's are resident with this one's.
#define BLOCKS (WARPS == 4 ? 3 : 16 / WARPS)

// Puts a lane's sums into a tile of the block's.
__device__ __forceinline__ void hold(const struct sums* sums, float* tile)
{
    int first = threadIdx.x % 4 * 2;
    UNROLL for (int i = 0; i < A_PLACES; i++) {
        float* line = tile + place_of(i, A_PLACES, !TRANSPOSE_A) * TILE_C;
        const float(*from)[4] = sums->of[i / 2];
        int e = i % 2 * 2;
        // Neighbours in a line lie in different instructions, or in one.
#if TRANSPOSE_B
        UNROLL for (int c = 0; c < B_PLACES; c++)
            *(float2*)(line + 8 * c + first) = make_float2(from[c][e], from[c][e + 1]);
#else
        *(float4*)(line + 2 * first) =
            make_float4(from[0][e], from[1][e], from[0][e + 1], from[1][e + 1]);
#endif
    }
}

#if NUMBERS == 2
// A result from its definition.  (In place it would take registers from the loop of products.)
__device__ __noinline__ float defined(const given* a, const given* b, int i, int j, int rows,
                                      int inner, int columns)
{
    float sum = 0.0f;
    ROLLED for (int k = 0; k < inner; k++)
        sum += WIDE(a[place_in_a(i, k, rows, inner)]) * WIDE(b[place_in_b(k, j, inner, columns)]);
    return sum;
}
#endif

__global__ __launch_bounds__(THREADS, BLOCKS) void own_terms(
    const given* a, const given* b, result* __restrict__ out, int rows, int inner, int columns)
{
    __shared__ __align__(16) float held[WARPS * PLACES];
    GRIDDEPCONTROL_WAIT();
    GRIDDEPCONTROL_LAUNCH();
    int across = (columns + TILE_C - 1) / TILE_C;
    int first_row = blockIdx.x / across * TILE_R, first_column = blockIdx.x % across * TILE_C;
    int warp = threadIdx.x / 32, k = warp * WARP_TERMS;
    unsigned of_a[2][4 * A_PLACES], of_b[2][4 * B_PLACES], least = ~0u;
    struct sums sums = {};

    fetch(a, first_row, rows, k, inner, A_PLACES, !TRANSPOSE_A, A_WHOLE, of_a[0]);
    fetch(b, first_column, columns, k, inner, B_PLACES, TRANSPOSE_B, B_WHOLE, of_b[0]);
    ROLLED for (; k < inner; k += 2 * DEEP)
        UNROLL for (int turn = 0; turn < 2; turn++) {
            int next = k + (turn + 1) * DEEP;
            if (next < inner) {
                fetch(a, first_row, rows, next, inner, A_PLACES, !TRANSPOSE_A, A_WHOLE, of_a[!turn]);
                fetch(b, first_column, columns, next, inner, B_PLACES, TRANSPOSE_B, B_WHOLE,
                      of_b[!turn]);
            }
            if (next - DEEP < inner) multiply(of_a[turn], of_b[turn], &sums, &least);
        }

    hold(&sums, held + warp * PLACES);
    bool sure = !__syncthreads_or(least < SMALL);
    for (int e = 2 * threadIdx.x; e < PLACES; e += 2 * THREADS) {
        float y[2] = {0.0f, 0.0f};
        UNROLL for (int w = 0; w < WARPS; w++) {
            float2 part = *(const float2*)(held + w * PLACES + e);
            y[0] += part.x, y[1] += part.y;
        }
        int i = first_row + e / TILE_C, j = first_column + e % TILE_C;
        if (i >= rows || j >= columns) continue;
        result* to = out + (int64)i * columns + j;
#if NUMBERS == 2
        UNROLL for (int n = 0; n < 2; n++)
            if ((!sure || y[n] - y[n] != 0.0f) && j + n < columns)
                y[n] = defined(a, b, i, j + n, rows, inner, columns);
#endif
#if PAIRED
        *(result_2*)to = RESULT_2(y[0], y[1]);
#else
        to[0] = RESULT(y[0]);
        if (j + 1 < columns) to[1] = RESULT(y[1]);
#endif
    }
}
