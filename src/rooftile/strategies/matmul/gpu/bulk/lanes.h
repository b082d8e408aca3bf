// Where a warpgroup's rows and columns lie in a stage, and which rows a lane has.

#pragma once

#include "common/warpgroups.h"

// The descriptors of a warpgroup's rows of a stage, and of its columns; and how far, in 16 bytes, the
// next instruction's terms lie.  An address in a cluster begins with the block's rank.
__device__ __forceinline__ word rows_at(unsigned address)
{
    address &= 0x3ffff;
    return LEFT_ACROSS ? matrix_across(address, BOX_BYTES, 1024) : matrix(address, 1024);
}
__device__ __forceinline__ word columns_at(unsigned address)
{
    address &= 0x3ffff;
    return RIGHT_ACROSS ? matrix_across(address, BOX_BYTES, 1024) : matrix(address, 1024);
}
#define LEFT_STEP (LEFT_ACROSS ? 128 : 2)
#define RIGHT_STEP (RIGHT_ACROSS ? 128 : 2)

// The first of a lane's two rows of 64, and how far the other is.
#if LEFT_ACROSS && ELEMENT_BYTES == 4
// They are neighbours.  A warp's reads of eight rows at four terms meet all banks.
#define NEXT_ROW 1
__device__ __forceinline__ int row_of_lane()
{
    int warp = threadIdx.x / 32 - 4, of_eight = threadIdx.x % 32 / 4;
    return warp / 2 * 32 + of_eight / 2 % 2 * 16 + warp % 2 * 8 + of_eight / 4 * 4 + of_eight % 2 * 2;
}
// Where they lie at the lane's first term of a slice, and so many times four terms on.
__device__ __forceinline__ unsigned place_of_rows(int row)
{
    int term = threadIdx.x % 4;
    return row / 32 * BOX_BYTES + term * 128 + ((row % 32 / 4) ^ term) * 16 + row % 4 * 4;
}
__device__ __forceinline__ unsigned fours_on(unsigned place, int fours)
{
    return (place ^ fours % 2 * 64) + fours * 512;
}
#else
#define NEXT_ROW 8
__device__ __forceinline__ int row_of_lane()
{
    return threadIdx.x / 32 * 16 - 64 + threadIdx.x % 32 / 4;
}
#endif
