// The loads of a lane of `own_terms`, and the operands of the cores' instructions.
//
// Lane 4 g + t has terms t LANE_TERMS, ... of a warp's; and of a A_PLACES rows, of b B_PLACES columns.
// Of a matrix whose lines are terms these are g, g + 8, ..., else neighbours: g A_PLACES, ....

#pragma once

#include "common/mma.h"
#include "common/narrow.h"
#include "common/tf32.h"
#include "gemm/gpu/operands.h"

#define THREADS (32 * WARPS)
#define A_PLACES 4
#define B_PLACES 2
#define TILE_R (8 * A_PLACES)
#define TILE_C (8 * B_PLACES)
// Terms of 16 bytes of a line, and of a warp.
#define LANE_TERMS (16 / (int)sizeof(given))
#define WARP_TERMS (4 * LANE_TERMS)
// An instruction takes two words of a place; float32 in 16 bits gives two, else there are four.
#define INSTRUCTIONS (!X_NARROW && CORES != TF32 ? 1 : 2)
// 2^-100 without its sign bit.
#define SMALL (27u << 24)

// Of a lane: instructions have 16 rows by 8 columns.
struct sums { float of[A_PLACES / 2][B_PLACES][4]; };

// Which row or column of a tile a lane's place `p` is.
__device__ __forceinline__ int place_of(int p, int places, bool along)
{
    int group = threadIdx.x % 32 / 4;
    return along ? 8 * p + group : places * group + p;
}

// Loads `bytes` of a line from `at` on, zeros beyond its end.
__device__ __forceinline__ void take(const given* line, int at, int end, int bytes, bool whole,
                                     unsigned* words)
{
    const int in_word = 4 / (int)sizeof(given);
    UNROLL for (int w = 0; w < bytes / 4; w++) words[w] = 0;
    if (whole) {
        if (at >= end) return;
        if (bytes == 16) {
            uint4 held = *(const uint4*)(line + at);
            words[0] = held.x, words[1] = held.y, words[2] = held.z, words[3] = held.w;
        } else if (bytes == 8) {
            uint2 held = *(const uint2*)(line + at);
            words[0] = held.x, words[1] = held.y;
        } else {
            words[0] = *(const unsigned*)(line + at);
        }
        return;
    }
    UNROLL for (int e = 0; e < bytes / 4 * in_word; e++)
        if (at + e < end) {
#if X_NARROW
            words[e / in_word] |= (unsigned)line[at + e] << e % in_word * 16;
#else
            words[e] = __float_as_uint(line[at + e]);
#endif
        }
}

// Loads a lane's elements of a matrix: terms from `start` on of the places from `first` on.  Terms lie
// `along` a matrix's lines, or across them.
__device__ __forceinline__ void fetch(const given* matrix, int first, int size, int start, int inner,
                                      int places, bool along, bool whole, unsigned* held)
{
    const int bytes = along ? 16 : places * (int)sizeof(given), lines = along ? size : inner;
    int length = along ? inner : size;
    start += threadIdx.x % 4 * LANE_TERMS;
    UNROLL for (int n = 0; n < (along ? places : LANE_TERMS); n++) {
        int line = along ? first + place_of(n, places, true) : start + n;
        int at = along ? start : first + place_of(0, places, false);
        // Lines beyond the last have no elements.
        take(matrix + (int64)(line < lines ? line : 0) * length, at, line < lines ? length : 0, bytes,
             whole, held + n * (bytes / 4));
    }
}

// A word of a place: a term, or two of 16 bits.
__device__ __forceinline__ unsigned word_of(const unsigned* held, int places, bool along, int p, int w)
{
    if (along) return held[4 * p + w];
#if X_NARROW
    const unsigned* two = held + w * places + p / 2;
    return __byte_perm(two[0], two[places / 2], p % 2 ? 0x7632 : 0x5410);
#else
    return held[w * places + p];
#endif
}

// The cores' operands of a place, in each of its numbers.  `least` keeps the bits of the least number
// that is not zero, less one.
__device__ __forceinline__ void take_operands(const unsigned* held, int places, bool along, int p,
                                              int instruction, unsigned operand[NUMBERS][2],
                                              unsigned* least)
{
    UNROLL for (int half = 0; half < 2; half++) {
        int w = 2 * instruction + half;
#if X_NARROW
        operand[0][half] = word_of(held, places, along, p, w);
#elif CORES == TF32
        float x = __uint_as_float(word_of(held, places, along, p, w));
        operand[0][half] = __float_as_uint(tf32(x));
#if NUMBERS == 2
        operand[1][half] = __float_as_uint(tf32(x - tf32(x)));
        *least = min(*least, (__float_as_uint(x) << 1) - 1);
#endif
#else
        operand[0][half] = pack(__uint_as_float(word_of(held, places, along, p, 2 * w)),
                                __uint_as_float(word_of(held, places, along, p, 2 * w + 1)));
#endif
    }
}

// Adds the products of one number of two rows by one of each column.
__device__ __forceinline__ void multiply_numbers(unsigned a[2][NUMBERS][2], int n,
                                                 unsigned b[B_PLACES][NUMBERS][2], int m,
                                                 float sums[B_PLACES][4])
{
    unsigned rows[4] = {a[0][n][0], a[1][n][0], a[0][n][1], a[1][n][1]};
    UNROLL for (int c = 0; c < B_PLACES; c++) multiply_add(sums[c], rows, b[c][m]);
}

// Adds the products of a warp's terms to a lane's sums.
__device__ __forceinline__ void multiply(const unsigned* of_a, const unsigned* of_b, struct sums* sums,
                                         unsigned* least)
{
    unsigned a[2][NUMBERS][2], b[INSTRUCTIONS][B_PLACES][NUMBERS][2];
    UNROLL for (int i = 0; i < INSTRUCTIONS; i++)
        UNROLL for (int p = 0; p < B_PLACES; p++)
            take_operands(of_b, B_PLACES, TRANSPOSE_B, p, i, b[i][p], least);
    UNROLL for (int r = 0; r < A_PLACES / 2; r++) {
#if NUMBERS == 2
        // Cores cut sums off, so they sum up a few terms; large products do not wait for small ones.
        float large[B_PLACES][4] = {}, small[B_PLACES][4] = {};
#endif
        UNROLL for (int i = 0; i < INSTRUCTIONS; i++) {
            UNROLL for (int p = 0; p < 2; p++)
                take_operands(of_a, A_PLACES, !TRANSPOSE_A, 2 * r + p, i, a[p], least);
#if NUMBERS == 2
            multiply_numbers(a, 1, b[i], 0, small);
            multiply_numbers(a, 0, b[i], 0, large);
            multiply_numbers(a, 0, b[i], 1, small);
#else
            multiply_numbers(a, 0, b[i], 0, sums->of[r]);
#endif
        }
#if NUMBERS == 2
        UNROLL for (int e = 0; e < 4 * B_PLACES; e++)
            sums->of[r][e / 4][e % 4] += large[e / 4][e % 4] + small[e / 4][e % 4];
#endif
    }
}
