// Common parts of separable's kernels.
//
// Macros: HIGH taps of the column, WIDE of the row; TOP and LEFT of them before the element with
// their output's index; REPLICATE is its boundary.

#ifndef SEPARABLE_H
#define SEPARABLE_H

// Taps that are summed in a row, before their sum is added to the output's: in one long row of equal
// terms, every addition would round the same way.
#define PART_TAPS 16
#define PART_END(begin, taps) ((begin) + PART_TAPS < (taps) ? (begin) + PART_TAPS : (taps))

// The element of an image, or what its ghost cell holds.
__device__ __forceinline__ float element(const GLOBAL float* image, int row, int column, int height,
                                         int width)
{
    int i = row < 0 ? 0 : row < height ? row : height - 1;
    int j = column < 0 ? 0 : column < width ? column : width - 1;
#if REPLICATE
    return image[(int64)i * width + j];
#else
    return i == row && j == column ? image[(int64)i * width + j] : 0.0f;
#endif
}

#endif
