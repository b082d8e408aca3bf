// A float32 matrix whose lines of 128 bytes, swizzled by the copy engine, are terms: which rows of a
// warpgroup's products a lane has, and where they lie.  Boxes of 32 rows follow each other.

#pragma once

// The first of a lane's two rows, which are neighbours, among the rows of the warpgroups that
// multiply.  A warp's reads of eight rows at four terms meet all banks.
__device__ __forceinline__ int neighbours_of_lane()
{
    int warp = threadIdx.x / 32 - 4, of_eight = threadIdx.x % 32 / 4;
    return warp / 2 * 32 + of_eight / 2 % 2 * 16 + warp % 2 * 8 + of_eight / 4 * 4 + of_eight % 2 * 2;
}

// The address of the lane's first term of 32, by its number among four lanes.
__device__ __forceinline__ unsigned place_of_neighbours(int row)
{
    int term = threadIdx.x % 4;
    return row / 32 * 4096 + term * 128 + ((row % 32 / 4) ^ term) * 16 + row % 4 * 4;
}

// And `step` times four terms on.
__device__ __forceinline__ unsigned fours_on(unsigned place, int fours)
{
    return (place ^ fours % 2 * 64) + fours * 512;
}
