// A warpgroup takes its rows of a slice from shared memory, splits and multiplies them.

#pragma once

#include "common/across.h"
#include "gemm/gpu/scaled_rows.h"
#include "gemm/gpu/warpgroups/weights.h"

// Both numbers of a slice of a warpgroup's images, by instruction.
struct fragments { pair high[INSTRUCTIONS][4], low[INSTRUCTIONS][4]; };

__device__ __forceinline__ void load_four(unsigned place, float x[4])
{
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3])
                 : "r"(place)
                 : "memory");
}

// A lane's part of a slice: numbers of its two rows, NEXT_ROW apart, and their scales.
struct slice { float x[2][8], scale[2]; };

#if X_ACROSS
#define NEXT_ROW 1
__device__ __forceinline__ int row_of_lane() { return neighbours_of_lane(); }
__device__ __forceinline__ unsigned place_of_lane() { return place_of_neighbours(row_of_lane()); }
__device__ __forceinline__ void take_numbers(unsigned place, float x[2][8])
{
    UNROLL for (int k = 0; k < 8; k++)
        asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
                     : "=f"(x[0][k]), "=f"(x[1][k])
                     : "r"(fours_on(place, k))
                     : "memory");
}
#else
#define NEXT_ROW 8
__device__ __forceinline__ int row_of_lane()
{
    return threadIdx.x / 32 * 16 - 64 + threadIdx.x % 32 / 4;
}
__device__ __forceinline__ unsigned place_of_lane()
{
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 - 64 + lane / 4;
    return row * 128 + ((lane % 4 * 2) ^ (row % 8)) * 16;
}
__device__ __forceinline__ void take_numbers(unsigned place, float x[2][8])
{
    // Rows eight apart are swizzled alike, and the next four are the other 16 bytes of 32.
    UNROLL for (int r = 0; r < 2; r++)
        UNROLL for (int half = 0; half < 2; half++)
            load_four((place ^ half * 16) + r * 1024, x[r] + 4 * half);
}
#endif
// Which row of a tile, after the lane's first, a lane's sum `e` is of.
#define DOWN(e) ((e) / 2 % 2 * NEXT_ROW)

__device__ __forceinline__ void take(unsigned place, struct slice* slice, struct row rows[2])
{
    take_numbers(place, slice->x);
    UNROLL for (int r = 0; r < 2; r++) slice->scale[r] = scale_of(slice->x[r], &rows[r]);
}

// Splits a slice into both numbers, as an instruction takes them.
__device__ __forceinline__ void split(const struct slice* slice, struct fragments* a)
{
    UNROLL for (int r = 0; r < 2; r++) {
        pair high[4], low[4];
        split_row(slice->x[r], slice->scale[r], high, low);
        UNROLL for (int e = 0; e < 4; e++) {
            a->high[e / 2][e % 2 * 2 + r] = high[e];
            a->low[e / 2][e % 2 * 2 + r] = low[e];
        }
    }
}

// Begins the products of a run of outputs with a slice, the small ones first.
__device__ __forceinline__ void begin(float sum[SUM_O / 2], struct fragments* a, unsigned weights)
{
    word high = weights_at(weights), low = high + (PLANE_BYTES >> 4);
    wgmma_fence();
    UNROLL for (int n = 0; n < INSTRUCTIONS; n++)
        WGMMA(sum, a->high[n], low + n * 2 * TILE_O, n > 0);
    UNROLL for (int n = 0; n < INSTRUCTIONS; n++) WGMMA(sum, a->low[n], high + n * 2 * TILE_O, 1);
    UNROLL for (int n = 0; n < INSTRUCTIONS; n++) WGMMA(sum, a->high[n], high + n * 2 * TILE_O, 1);
    wgmma_commit();
}

__device__ __forceinline__ void add(float total[SUM_O / 2], const float sum[SUM_O / 2],
                                    const float back[2])
{
    UNROLL for (int e = 0; e < SUM_O / 2; e++)
        total[e] = fmaf(sum[e], back[e / 2 % 2], total[e]);
}
