// naive and naive_transposed: a thread an element, everything from global memory.
//
// Threads along x make neighbours of a row.  They read one element of a at the same time, and
// neighbours of b: a warp's load is one piece of memory.  With ALONG_ROWS they make neighbours of a
// column instead: the same work, but their elements of a, and their results, are a row apart.
//
// a, b, bias, out: see operands.h.
// Grid: x over tiles of results, along a row of tiles first.  Block: BLOCK_X x BLOCK_Y.

#include "gemm/gpu/operands.h"

// The terms of a sum of its own: a single sum of all terms would gather, in an adverse order, more
// rounding errors than the square root of their number.
#define RUN 32

__global__ void naive(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
                      BIAS_PARAMETER GLOBAL float* __restrict__ out, int rows, int inner,
                      int columns)
{
    int length = ALONG_ROWS ? rows : columns;
    int across = (length + BLOCK_X - 1) / BLOCK_X;
    int x = blockIdx.x % across * BLOCK_X + threadIdx.x;
    int y = blockIdx.x / across * BLOCK_Y + threadIdx.y;
    int i = ALONG_ROWS ? x : y, j = ALONG_ROWS ? y : x;
    if (i >= rows || j >= columns) return;

    float sum = 0.0f;
    for (int start = 0; start < inner; start += RUN) {
        int end = start + RUN < inner ? start + RUN : inner;
        float run = 0.0f;
        for (int k = start; k < end; k++)
            run += a[place_in_a(i, k, rows, inner)] * b[place_in_b(k, j, inner, columns)];
        sum += run;
    }
    out[(int64)i * columns + j] = EPILOGUE(sum, j);
}
