// few_rows: all rows of a at once, b once.
//
// With few rows a tile of them is mostly empty, and b, each element of which is needed for one
// multiply-add a row, must come from memory once: nothing else counts.  Of b[inner][columns] a thread
// has VECTOR neighbouring columns, which one load brings, and every SLICES-th term of a part; of
// b[columns][inner] a team of threads walks along a line, four terms at a time.  AHEAD loads are on
// their way at once, and each thread keeps a sum for every row.
// What it removes: idle threads and empty tiles.
//
// a, b, out: see operands.h; rows <= ROWS.  VECTOR: elements of 16 bytes where lines of b begin on such,
// else 1.  TERMS of a lie in shared memory at a time.  WHOLE: whether loads of AHEAD terms, where there
// are as many, stand without guards between them, for which compilers may wait; what is left is loaded
// one by one.  With several PARTS, sums[PARTS][rows][columns] between the kernels.

#pragma once

#include "gemm/gpu/operands.h"

#define BLOCK_COLUMNS (LANES * VECTOR)

#define OF_FOUR(v, e) ((e) == 0 ? (v).x : (e) == 1 ? (v).y : (e) == 2 ? (v).z : (v).w)
#ifdef CORES
// In 16 bits, or rounded to them.
#include "common/narrow.h"
#define NUMBER(x) VALUE((given)(x))
#else
#define NUMBER(x) (x)
#endif
#if VECTOR == 8
typedef uint4 vector;
#define EACH(v, e) NUMBER(OF_FOUR(v, (e) / 2) >> (e) % 2 * 16)
#elif VECTOR == 4
typedef float4 vector;
#define EACH(v, e) NUMBER(OF_FOUR(v, e))
#else
typedef given vector;
#define EACH(v, e) NUMBER(v)
#endif

// The stores of the kernels over b.
#if PARTS > 1
typedef float total;
#define TOTAL(y) (y)
#else
typedef result total;
#define TOTAL(y) RESULT(y)
#endif

#if !TRANSPOSE_B
// Adds the products of a term, whose elements of b a vector holds, to every sum.
#define ADD_PRODUCTS(vector_of_b, term)                                                            \
    UNROLL for (int e = 0; e < ROWS * VECTOR; e++)                                                 \
        sum[e / VECTOR][e % VECTOR] += held[e / VECTOR][term] * EACH(vector_of_b, e % VECTOR)

// Grid: x over strips of columns, y over parts of `share` terms.
// Block: x over LANES vectors of columns, y over SLICES.
__global__ void LAUNCH_BOUNDS(LANES * SLICES)
KERNEL(strips)(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
               GLOBAL total* __restrict__ out, int rows, int inner, int columns, int share)
{
    __shared__ float held[ROWS][TERMS];
    __shared__ float joined[SLICES][BLOCK_COLUMNS];
    int tx = threadIdx.x, ty = threadIdx.y, thread = ty * LANES + tx;
    int first = blockIdx.x * BLOCK_COLUMNS, j = first + tx * VECTOR;
    int begin = blockIdx.y * share, end = inner - begin < share ? inner : begin + share;
    // Columns beyond the last repeat the first, and are not stored.
    const GLOBAL given* column = b + (j < columns ? j : 0);

    float sum[ROWS][VECTOR];
    UNROLL for (int e = 0; e < ROWS * VECTOR; e++) sum[e / VECTOR][e % VECTOR] = 0.0f;
    for (int start = begin; start < end; start += TERMS) {
        __syncthreads();
        for (int e = thread; e < ROWS * TERMS; e += LANES * SLICES) {
            int r = e / TERMS, k = start + e % TERMS;
            bool inside = r < rows && k < end;
            held[r][e % TERMS] = inside ? NUMBER(a[place_in_a(r, k, rows, inner)]) : 0.0f;
        }
        __syncthreads();
        for (int term = ty; term < TERMS; term += AHEAD * SLICES) {
            vector loaded[AHEAD];
#if WHOLE
            int k = start + term;
            if (k + (AHEAD - 1) * SLICES < end) {
                UNROLL for (int l = 0; l < AHEAD; l++)
                    loaded[l] = *(const GLOBAL vector*)(column + (int64)(k + l * SLICES) * columns);
                UNROLL for (int l = 0; l < AHEAD; l++)
                    ADD_PRODUCTS(loaded[l], term + l * SLICES);
            } else
                for (int l = 0; k + l * SLICES < end; l++) {
                    loaded[0] = *(const GLOBAL vector*)(column + (int64)(k + l * SLICES) * columns);
                    ADD_PRODUCTS(loaded[0], term + l * SLICES);
                }
#else
            UNROLL for (int l = 0; l < AHEAD; l++) {
                // Terms beyond the last repeat it, and are not used.
                int k = start + term + l * SLICES;
                loaded[l] = *(const GLOBAL vector*)(column + (int64)(k < end ? k : end - 1) * columns);
            }
            UNROLL for (int l = 0; l < AHEAD; l++)
                if (start + term + l * SLICES < end) ADD_PRODUCTS(loaded[l], term + l * SLICES);
#endif
        }
    }

    UNROLL for (int r = 0; r < ROWS; r++) {
        __syncthreads();
        UNROLL for (int e = 0; e < VECTOR; e++) joined[ty][tx * VECTOR + e] = sum[r][e];
        __syncthreads();
        for (int e = thread; e < BLOCK_COLUMNS; e += LANES * SLICES) {
            float y = 0.0f;
            UNROLL for (int slice = 0; slice < SLICES; slice++) y += joined[slice][e];
            if (r < rows && first + e < columns)
                out[((int64)blockIdx.y * rows + r) * columns + first + e] = TOTAL(y);
        }
    }
}

// Adds the parts' sums, in their order.  Grid: x over the results.
__global__ void KERNEL(finish)(
    const GLOBAL float* __restrict__ sums, GLOBAL result* __restrict__ out, int results, int parts)
{
    int e = blockIdx.x * FINISH_THREADS + threadIdx.x;
    if (e >= results) return;
    float y = 0.0f;
    for (int part = 0; part < parts; part++) y += sums[(int64)part * results + e];
    out[e] = RESULT(y);
}
#else
// As many terms as a vector has, of a row of a from `k` on: they are strided where a is transposed.
__device__ __forceinline__ void take_terms(float terms[VECTOR], const GLOBAL given* a, int r, int k,
                                           int rows, int inner)
{
#if TRANSPOSE_A
    UNROLL for (int e = 0; e < VECTOR; e++) terms[e] = NUMBER(a[place_in_a(r, k + e, rows, inner)]);
#else
    vector of = *(const GLOBAL vector*)(a + place_in_a(r, k, rows, inner));
    UNROLL for (int e = 0; e < VECTOR; e++) terms[e] = EACH(of, e);
#endif
}

// Grid: x over runs of SLICES columns.
// Block: x over the LANES (a power of two) threads of a team, y over SLICES columns.
__global__ void LAUNCH_BOUNDS(LANES * SLICES)
KERNEL(teams)(const GLOBAL given* __restrict__ a, const GLOBAL given* __restrict__ b,
              GLOBAL result* __restrict__ out, int rows, int inner, int columns)
{
    __shared__ float joined[SLICES][ROWS][LANES];
    int lane = threadIdx.x, slot = threadIdx.y, j = blockIdx.x * SLICES + slot;
    const GLOBAL given* line = b + (int64)(j < columns ? j : columns - 1) * inner;

    float sum[ROWS];
    UNROLL for (int r = 0; r < ROWS; r++) sum[r] = 0.0f;
    for (int k = lane * VECTOR; k < inner; k += AHEAD * BLOCK_COLUMNS) {
        vector loaded[AHEAD];
        UNROLL for (int l = 0; l < AHEAD; l++)
            if (k + l * BLOCK_COLUMNS < inner) loaded[l] = *(const GLOBAL vector*)(line + k + l * BLOCK_COLUMNS);
        UNROLL for (int l = 0; l < AHEAD; l++) {
            if (k + l * BLOCK_COLUMNS >= inner) break;
            UNROLL for (int r = 0; r < ROWS; r++) {
                // Rows beyond the last repeat it.
                float terms[VECTOR];
                take_terms(terms, a, r < rows ? r : rows - 1, k + l * BLOCK_COLUMNS, rows, inner);
                UNROLL for (int e = 0; e < VECTOR; e++) sum[r] += EACH(loaded[l], e) * terms[e];
            }
        }
    }

    UNROLL for (int r = 0; r < ROWS; r++) joined[slot][r][lane] = sum[r];
    for (int reach = LANES / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (lane < reach)
            UNROLL for (int r = 0; r < ROWS; r++)
                joined[slot][r][lane] += joined[slot][r][lane + reach];
    }
    __syncthreads();
    if (j < columns)
        for (int r = lane; r < rows; r += LANES)
            out[(int64)r * columns + j] = RESULT(joined[slot][r][0]);
}
#endif
