// The epilogue of a warpgroup's sums. A tile's rows are out's, or its columns, where the product is
// SWAPPED; out is out[rows][columns] of the problem.

#pragma once

#include "matmul/gpu/bulk/lanes.h"
#include "gemm/gpu/operands.h"

// Which row of a tile, after the lane's first, a lane's sum `e` is of.
#define DOWN(e) ((e) / 2 % 2 * NEXT_ROW)

#if STORING == STORED_PIECES
// A warp's sums pass through shared memory in pieces of CHUNK columns by 16 rows, so that its lanes
// store 16 bytes each, and neighbours in a line of out together.  They wait for no other warp, and
// not for the copy engine, which brings the next tile meanwhile.
#define LINE (128 / (int)sizeof(result))
#define SIXTEEN_BYTES (16 / (int)sizeof(result))
// Pieces of 16 bytes in a line of a warp's.
#define ACROSS ((SWAPPED ? 16 : CHUNK) / SIXTEEN_BYTES)

// The address of an element of a warpgroup's piece: lines of 128 bytes, whose banks change.
__device__ __forceinline__ unsigned place_of(int line, int at)
{
    unsigned box = at / LINE * CHUNK * 128;
    return box + line * 128 + ((at % LINE * (int)sizeof(result)) ^ line % 8 * 16);
}

// Two neighbours of a line.
__device__ __forceinline__ void hold_two(char* buffer, int line, int at, float y0, float y1)
{
    *(result_2*)(buffer + place_of(line, at)) = RESULT_2(y0, y1);
}

__device__ __forceinline__ void hold_piece(char* buffer, const float* sum, int row)
{
    UNROLL for (int e = 0; e < CHUNK / 2; e += 4) {
        int column = threadIdx.x % 4 * 2 + COLUMN_OF(e);
        UNROLL for (int i = 0; i < 2; i++) {
#if !SWAPPED
            hold_two(buffer, row + i * NEXT_ROW, column, sum[e + 2 * i], sum[e + 2 * i + 1]);
#elif NEXT_ROW == 1
            hold_two(buffer, column + i, row, sum[e + i], sum[e + 2 + i]);
#else
            *(result*)(buffer + place_of(column + i, row)) = RESULT(sum[e + i]);
            *(result*)(buffer + place_of(column + i, row + NEXT_ROW)) = RESULT(sum[e + 2 + i]);
#endif
        }
    }
}

// Stores a warp's piece, whose first line in out is `line`, and first element there `at`.
__device__ __forceinline__ void store_piece(const char* buffer, result* out, int line, int at, int rows,
                                            int columns)
{
    UNROLL for (int e = threadIdx.x % 32; e < CHUNK * (int)sizeof(result); e += 32) {
        int down = e / ACROSS, beside = e % ACROSS * SIXTEEN_BYTES;
        if (SWAPPED)
            beside = row_of_warp(beside);
        else
            down = row_of_warp(down);
        uint4 held = *(const uint4*)(buffer + place_of(down, beside));
        if (line + down < rows && at + beside < columns)
            *(uint4*)(out + (int64)(line + down) * columns + at + beside) = held;
    }
}

__device__ __forceinline__ void store(const float sum[SUMS], result* out, char* buffers,
                                      struct work work, int rows, int columns)
{
    int group = threadIdx.x / 128 - 1, row = row_of_lane() - 64 * group;
    char* buffer = buffers + group * PIECE_BYTES;
    work.row += 64 * group;
    UNROLL for (int c = 0; c < TILE_C; c += CHUNK) {
        // The piece before has been stored.
        __syncwarp();
        hold_piece(buffer, sum + c / 2, row);
        __syncwarp();
        store_piece(buffer, out, SWAPPED ? work.column + c : work.row,
                    SWAPPED ? work.row : work.column + c, rows, columns);
    }
}
#else
// Stores those of two neighbours that are in a line of out.
__device__ __forceinline__ void store_two(result* to, int there, float y0, float y1)
{
#if PAIRED
    if (there > 0) *(result_2*)to = RESULT_2(y0, y1);
#else
    if (there > 0) to[0] = RESULT(y0);
    if (there > 1) to[1] = RESULT(y1);
#endif
}
#endif

#if STORING == STORED_LANES
__device__ __forceinline__ void store(const float sum[SUMS], result* out, struct work work,
                                      int rows, int columns)
{
    int row = work.row + row_of_lane(), column = work.column + threadIdx.x % 4 * 2;
    UNROLL for (int e = 0; e < SUMS; e += 4)
        UNROLL for (int i = 0; i < 2; i++) {
#if !SWAPPED
            int line = row + DOWN(e + 2 * i), at = column + COLUMN_OF(e);
            float y0 = sum[e + 2 * i], y1 = sum[e + 2 * i + 1];
#else
            int line = column + COLUMN_OF(e) + i, at = row + DOWN(e);
            float y0 = sum[e + i], y1 = sum[e + 2 + i];
#endif
            if (line >= rows) continue;
            result* to = out + (int64)line * columns + at;
#if SWAPPED && NEXT_ROW != 1
            if (at < columns) to[0] = RESULT(y0);
            if (at + NEXT_ROW < columns) to[NEXT_ROW] = RESULT(y1);
#else
            store_two(to, columns - at, y0, y1);
#endif
        }
}
#endif

#if STORING == PARTED
// Each block of a cluster has summed up a part of the same tile, and holds it as lines of out, in
// place of its stages.  Then each adds all parts of its share of the tile.
#define LINES (SWAPPED ? TILE_C : TILE_R)
#define WIDTH (SWAPPED ? TILE_R : TILE_C)
#define PITCH (WIDTH + (SWAPPED ? 4 : 8))

__device__ __forceinline__ void hold(const float sum[SUMS], float* held)
{
    UNROLL for (int e = 0; e < SUMS; e++) {
        int row = row_of_lane() + DOWN(e), column = threadIdx.x % 4 * 2 + COLUMN_OF(e);
        held[(SWAPPED ? column : row) * PITCH + (SWAPPED ? row : column)] = sum[e];
    }
}

// The warpgroups that multiply meet.
__device__ __forceinline__ void meet_warpgroups()
{
    asm volatile("bar.sync %0, %1;" ::"n"(1), "n"(128 * WARPGROUPS) : "memory");
}

// Four neighbours of the tile's sum over all parts.
__device__ __forceinline__ float4 sum_of_parts(const float* held)
{
    float4 parts[PARTS], sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    UNROLL for (int p = 0; p < PARTS; p++)
        asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %4, %5; "
                     "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there]; }"
                     : "=f"(parts[p].x), "=f"(parts[p].y), "=f"(parts[p].z), "=f"(parts[p].w)
                     : "r"((unsigned)__cvta_generic_to_shared(held)), "r"(p));
    UNROLL for (int p = 0; p < PARTS; p++) {
        sum.x += parts[p].x, sum.y += parts[p].y;
        sum.z += parts[p].z, sum.w += parts[p].w;
    }
    return sum;
}

// A block's share of the tile in fours, of which a thread asks for some before it stores them.
#define SHARE (LINES * WIDTH / 4 / PARTS)
#define AT_ONCE 4

__device__ __forceinline__ void add_parts(const float* held, result* out, struct work work, int rows,
                                          int columns)
{
    ROLLED for (int first = threadIdx.x - 128; first < SHARE; first += AT_ONCE * 128 * WARPGROUPS) {
        float4 sums[AT_ONCE];
        UNROLL for (int n = 0; n < 2 * AT_ONCE; n++) {
            int e = first + n % AT_ONCE * 128 * WARPGROUPS, place = blockIdx.x % PARTS * SHARE + e;
            int i = place / (WIDTH / 4), j = place % (WIDTH / 4) * 4;
            const float* from = held + i * PITCH + j;
            i += SWAPPED ? work.column : work.row, j += SWAPPED ? work.row : work.column;
            // A block may end when others have stored what they asked it for.
            if (e >= SHARE || i >= rows || j >= columns) continue;
            float4* sum = sums + n % AT_ONCE;
            if (n < AT_ONCE) {
                *sum = sum_of_parts(from);
                continue;
            }
            result* to = out + (int64)i * columns + j;
            store_two(to, columns - j, sum->x, sum->y);
            store_two(to + 2, columns - j - 2, sum->z, sum->w);
        }
    }
}
#endif
