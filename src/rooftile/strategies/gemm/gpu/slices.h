// Common parts of texts on `mma.sync` that read the caller's matrices: slices of terms are loaded
// to shared memory by asynchronous copies, and a warp multiplies them from there.
//
// TRANSPOSE_A and TRANSPOSE_B tell the order of the matrices, A_PIECE and B_PIECE the elements of a
// copy; see `mma.cu`.

#pragma once

#include "common/copies.h"
#include "common/mma.h"
#include "common/tf32.h"
#include "gemm/gpu/operands.h"

#define SLICE (128 / (int)sizeof(given))
#define DEPTH (CORES == TF32 ? 8 : 16)
#define TILE_R (WARPS_R * WARP_R)
#define TILE_C (WARPS_C * WARP_C)
#define THREADS (32 * WARPS_R * WARPS_C)
// Elements from line to line of a tile whose lines are terms, or places: lanes of a warp take four
// terms of eight places, or lines of 16 bytes.
#define PITCH(width, along) ((along) ? SLICE + 16 / (int)sizeof(given) : (width) + 8)
#define SIZE(width, along) (PITCH(width, along) * ((along) ? (width) : SLICE))
#define A_SIZE SIZE(TILE_R, !TRANSPOSE_A)
#define STAGE_SIZE (A_SIZE + SIZE(TILE_C, TRANSPOSE_B))
#define ROWS (WARP_R / 16)
#define COLUMNS (WARP_C / 8)
// 2^-100 without its sign bit.
#define SMALL (27u << 24)

struct sums { float of[ROWS][COLUMNS][4]; };

// Starts to copy a tile of `width` places by a slice of terms. Terms are `along` a matrix's lines
// or across them; elements outside become zeros.
__device__ __forceinline__ void start_tile(given* to, const given* matrix, int first, int size,
                                           int start, int inner, int width, bool along, int piece)
{
    int pieces = (along ? SLICE : width) / piece;
    UNROLL for (int e = threadIdx.x; e < width * SLICE / piece; e += THREADS) {
        int line = e / pieces, at = e % pieces * piece;
        int place = first + (along ? line : at), term = start + (along ? at : line);
        bool inside = place < size && term < inner;
        int64 from = along ? (int64)place * inner + term : (int64)term * size + place;
        bring((char*)(to + line * PITCH(width, along) + at), matrix + (inside ? from : 0),
              piece * (int)sizeof(given), inside ? piece * (int)sizeof(given) : 0);
    }
}

#if X_NARROW
// Four words of instructions' operands: of 16 places from `place` on by 16 terms, which are four
// squares of eight.  Of a the places come first, of b the terms.
__device__ __forceinline__ void take_square(const given* tile, int width, bool along, int place,
                                            int term, bool terms_first, unsigned word[4])
{
    int lane = threadIdx.x % 32, first = lane / 8 % 2 * 8, next = lane / 16 * 8;
    place += terms_first ? next : first, term += terms_first ? first : next;
    // A lane tells where one of a square's lines begins.
    const given* line = along ? tile + (place + lane % 8) * PITCH(width, along) + term
                              : tile + (term + lane % 8) * PITCH(width, along) + place;
    unsigned from = (unsigned)__cvta_generic_to_shared(line);
    if (along)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                     : "r"(from)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                     : "r"(from)
                     : "memory");
}

__device__ __forceinline__ void multiply_slice(const given* a_tile, const given* b_tile, int row,
                                               int column, struct sums* sums, unsigned*)
{
    ROLLED for (int start = 0; start < SLICE; start += DEPTH) {
        unsigned b[COLUMNS / 2][4], a[4];
        UNROLL for (int c = 0; c < COLUMNS / 2; c++)
            take_square(b_tile, TILE_C, TRANSPOSE_B, column + 16 * c, start, true, b[c]);
        UNROLL for (int r = 0; r < ROWS; r++) {
            take_square(a_tile, TILE_R, !TRANSPOSE_A, row + 16 * r, start, false, a);
            UNROLL for (int c = 0; c < COLUMNS; c++)
                multiply_add(sums->of[r][c], a, b[c / 2] + c % 2 * 2);
        }
    }
}
#else
// A word of an instruction's operand, in each of its numbers: a place's term, or two of them.
// `least` keeps the bits of the least number that is not zero, less one.
__device__ __forceinline__ void take_word(const given* tile, int width, bool along, int place,
                                          int term, unsigned word[NUMBERS], unsigned* least)
{
    const given* from = tile + (along ? place * PITCH(width, along) + term
                                      : term * PITCH(width, along) + place);
#if CORES == TF32
    word[0] = __float_as_uint(tf32(from[0]));
#else
    float x = from[0], y = from[along ? 4 : 4 * PITCH(width, along)];
#if NUMBERS == 3
    *least = min(*least, min((__float_as_uint(x) << 1) - 1, (__float_as_uint(y) << 1) - 1));
#endif
    UNROLL for (int number = 0; number < NUMBERS; number++) {
        word[number] = pack(x, y);
        x -= widened(word[number]);
        y -= widened(word[number] >> 16);
    }
#endif
}

// Adds the products of a row of tiles by a column of them.
__device__ __forceinline__ void multiply(float sum[4], const unsigned a[NUMBERS][4],
                                         const unsigned b[NUMBERS][2])
{
#if NUMBERS == 1
    multiply_add(sum, a[0], b[0]);
#else
    // The small products come first.
    float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    multiply_add(part, a[2], b[0]);
    multiply_add(part, a[0], b[2]);
    multiply_add(part, a[1], b[1]);
    multiply_add(part, a[1], b[0]);
    multiply_add(part, a[0], b[1]);
    multiply_add(part, a[0], b[0]);
    UNROLL for (int e = 0; e < 4; e++) sum[e] += part[e];
#endif
}

__device__ __forceinline__ void multiply_slice(const given* a_tile, const given* b_tile, int row,
                                               int column, struct sums* sums, unsigned* least)
{
    int lane = threadIdx.x % 32;
    ROLLED for (int start = lane % 4; start < SLICE; start += DEPTH) {
        unsigned b[COLUMNS][NUMBERS][2], word[NUMBERS];
        UNROLL for (int e = 0; e < 2 * COLUMNS; e++) {
            take_word(b_tile, TILE_C, TRANSPOSE_B, column + e / 2 * 8 + lane / 4,
                      start + e % 2 * (DEPTH / 2), word, least);
            UNROLL for (int number = 0; number < NUMBERS; number++)
                b[e / 2][number][e % 2] = word[number];
        }
        UNROLL for (int r = 0; r < ROWS; r++) {
            unsigned a[NUMBERS][4];
            UNROLL for (int e = 0; e < 4; e++) {
                take_word(a_tile, TILE_R, !TRANSPOSE_A, row + 16 * r + e % 2 * 8 + lane / 4,
                          start + e / 2 * (DEPTH / 2), word, least);
                UNROLL for (int number = 0; number < NUMBERS; number++) a[number][e] = word[number];
            }
            UNROLL for (int c = 0; c < COLUMNS; c++) multiply(sums->of[r][c], a, b[c]);
        }
    }
}
#endif
