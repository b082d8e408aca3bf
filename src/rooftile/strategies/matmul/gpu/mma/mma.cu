// Rungs 20 to 23, mma: the matrix product on tensor cores, of matrices as they lie.
//
// Both matrices come to shared memory as they lie in memory, whichever way that is, by copies that
// go on meanwhile.  A lane takes its elements from there one by one and rounds them in registers on
// their way to the cores, so nothing is turned, rounded or laid before: b passes once for each row
// of tiles.  Which term is which of an instruction's is free as long as both sides agree; lanes
// take terms so that a warp's reads meet all banks in either order.  Where tiles are too few, blocks
// share a tile's terms, and `finish` adds their sums.
// With three NUMBERS, float32 is split in three of bfloat16, x = high + middle + low, exactly, and six
// products stand for one; the others are too small.  Cores cut sums off, so the sum of DEPTH terms,
// which is short, is added to the total in float32.  bfloat16 has float32's range, but its low
// numbers are lost for numbers below SMALL, and an infinity less itself is NaN: such results become
// NaN, and `finish` computes those from their definition.
// Matrices that have the cores' 16 bits in memory are neither rounded nor taken element by element:
// an instruction brings 16 x 16 of them to a warp, and turns them where that is wanted.
// What it removes: the FMA units' limit, and every pass over b but the one that is needed.
//
// a, b, out: see matmul.h.  A_PIECE and B_PIECE: elements of a copy.  With several parts of `share`
// terms, or several NUMBERS, sums[parts][rows][columns] between the kernels.
// Grid: x over tiles of results, along a row of tiles first; y over parts.  Block: WARPS_R x WARPS_C
// warps.

#include "common/copies.h"
#include "common/mma.h"
#include "common/tf32.h"
#include "matmul/gpu/matmul.h"

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

// Starts to copy a tile of `width` places by a slice of terms.  Terms lie `along` a matrix's lines or
// across them; what lies outside becomes zeros.
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

// Stores two neighbouring results, or what a part has summed up for them, of `there` in the matrix.
__device__ __forceinline__ void store(void* out, int64 at, int there, float y0, float y1)
{
    if (gridDim.y > 1) {
        float* to = (float*)out + at;
        if (there > 0) to[0] = y0;
        if (there > 1) to[1] = y1;
    } else {
        result* to = (result*)out + at;
        if (there > 0) to[0] = RESULT(y0);
        if (there > 1) to[1] = RESULT(y1);
    }
}

__global__ __launch_bounds__(THREADS, BLOCKS) void matmul(const given* __restrict__ a,
                                                          const given* __restrict__ b,
                                                          void* __restrict__ out, int rows,
                                                          int inner, int columns, int share)
{
    extern __shared__ __align__(128) char shared[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, across = (columns + TILE_C - 1) / TILE_C;
    int row = warp / WARPS_C * WARP_R, column = warp % WARPS_C * WARP_C;
    int first_row = blockIdx.x / across * TILE_R, first_column = blockIdx.x % across * TILE_C;
    int begin = blockIdx.y * share, slices = (min(share, inner - begin) + SLICE - 1) / SLICE;
    given* stages = (given*)shared;
    struct sums sums;
    unsigned least = ~0u;
    UNROLL for (int e = 0; e < ROWS * COLUMNS * 4; e++)
        sums.of[e / (4 * COLUMNS)][e / 4 % COLUMNS][e % 4] = 0.0f;

    // The slice `s` is multiplied, and the one that comes STAGES - 1 later is started.
    ROLLED for (int s = 1 - STAGES; s < slices; s++) {
        if (s >= 0) await_stage();
        int later = s + STAGES - 1, start = begin + later * SLICE;
        given* next = stages + later % STAGES * STAGE_SIZE;
        if (later < slices) {
            start_tile(next, a, first_row, rows, start, inner, TILE_R, !TRANSPOSE_A, A_PIECE);
            start_tile(next + A_SIZE, b, first_column, columns, start, inner, TILE_C, TRANSPOSE_B,
                       B_PIECE);
        }
        end_copies();
        const given* stage = stages + (s + STAGES) % STAGES * STAGE_SIZE;
        if (s >= 0) multiply_slice(stage, stage + A_SIZE, row, column, &sums, &least);
    }

    bool sure = NUMBERS == 1 || !__any_sync(~0u, least < SMALL);
    int64 before = (int64)blockIdx.y * rows * columns;
    UNROLL for (int e = 0; e < ROWS * COLUMNS * 2; e++) {
        int r = e / (2 * COLUMNS), c = e / 2 % COLUMNS;
        int i = first_row + row + 16 * r + e % 2 * 8 + lane / 4;
        int j = first_column + column + 8 * c + lane % 4 * 2;
        float y0 = sums.of[r][c][e % 2 * 2], y1 = sums.of[r][c][e % 2 * 2 + 1];
        if (!sure) y0 = y1 = __int_as_float(0x7fffffff);
        if (i < rows) store(out, before + (int64)i * columns + j, columns - j, y0, y1);
    }
}

// Adds the parts' sums, and computes what is not finite from its definition.  Grid: x over the
// results.  (With one part, sums and results are the same array.)
__global__ __launch_bounds__(FINISH_THREADS) void finish(const given* __restrict__ a,
                                                         const given* __restrict__ b,
                                                         const float* sums, result* out, int rows,
                                                         int inner, int columns, int parts)
{
    int64 e = (int64)blockIdx.x * FINISH_THREADS + threadIdx.x, results = (int64)rows * columns;
    float sum = 0.0f;
    if (e < results) {
        for (int part = 0; part < parts; part++) sum += sums[part * results + e];
        out[e] = RESULT(sum);
    }
#if NUMBERS == 3
    unsigned left = __ballot_sync(~0u, sum - sum != 0.0f);
    ROLLED for (; left; left &= left - 1) {
        int lane = __ffs(left) - 1, of = threadIdx.x % 32;
        int i = __shfl_sync(~0u, (int)(e / columns), lane);
        int j = __shfl_sync(~0u, (int)(e % columns), lane);
        float total = 0.0f;
        for (int k = of; k < inner; k += 32)
            total += a[place_in_a(i, k, rows, inner)] * b[place_in_b(k, j, inner, columns)];
        UNROLL for (int apart = 1; apart < 32; apart *= 2)
            total += __shfl_xor_sync(~0u, total, apart);
        if (of == lane) out[e] = total;
    }
#endif
}
