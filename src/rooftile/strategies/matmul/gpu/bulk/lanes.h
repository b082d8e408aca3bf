// Addresses of a warpgroup's rows and columns in a stage, and a lane's rows.

#pragma once

#include "common/across.h"
#include "common/pipelines/wgmma.h"

// A number that is the same in all lanes of a warp.  The compiler learns that it is, and makes
// descriptors of it once for the warp, between products that follow each other without a gap.
__device__ __forceinline__ unsigned of_warp(unsigned number) { return __shfl_sync(~0u, number, 0); }

// The descriptors of a warpgroup's rows of a stage, and of its columns; and how far, in 16 bytes, the
// next instruction's terms lie.  An address in a cluster begins with the block's rank.
__device__ __forceinline__ word rows_at(unsigned address)
{
    address &= 0x3ffff;
    return LEFT_ACROSS ? transposed_descriptor(address, BOX_BYTES, 1024) : swizzled_descriptor(address, 1024);
}
__device__ __forceinline__ word columns_at(unsigned address)
{
    address &= 0x3ffff;
    return RIGHT_ACROSS ? transposed_descriptor(address, BOX_BYTES, 1024) : swizzled_descriptor(address, 1024);
}
#define LEFT_STEP (LEFT_ACROSS ? 128 : 2)
#define RIGHT_STEP (RIGHT_ACROSS ? 128 : 2)

// The first of a lane's two rows of 64, and how far the other is; and which a warp's 16 rows are.
#if LEFT_ACROSS && ELEMENT_BYTES == 4
#define NEXT_ROW 1
__device__ __forceinline__ int row_of_lane() { return neighbours_of_lane(); }
__device__ __forceinline__ int row_of_warp(int n)
{
    int warp = threadIdx.x / 32 % 4;
    return warp / 2 * 32 + warp % 2 * 8 + n / 8 * 16 + n % 8;
}
#else
#define NEXT_ROW 8
__device__ __forceinline__ int row_of_lane()
{
    return threadIdx.x / 32 * 16 - 64 + threadIdx.x % 32 / 4;
}
__device__ __forceinline__ int row_of_warp(int n) { return threadIdx.x / 32 % 4 * 16 + n; }
#endif
