// What the milestone report's products of matrices share: their sizes, options and operands.
//
// The left matrix is weights[MAPS][DEPTH]; the right one is the unrolled images: with STAGED 0 it
// exists only as tiles, which a block gathers from image blockIdx.z of
// x[images][CHANNELS][SIZE][SIZE], and with STAGED 1 it is x[DEPTH][columns] of a slice of images,
// which another kernel has written.  Either way the result is out[...][MAPS][columns].
//
// RESTRICTED says whether pointers are, MASK_CONSTANT whether the weights lie in constant memory,
// whose addresses differ within a warp here, UNROLLED whether the inner loop is written out.

#pragma once

#define OUT_SIZE (SIZE - MASK + 1)
#define PIXELS (OUT_SIZE * OUT_SIZE)
#define DEPTH (CHANNELS * MASK * MASK)

#if RESTRICTED
#define ALONE __restrict__
#else
#define ALONE
#endif
#if MASK_CONSTANT
CONSTANT_ARRAY(float, mask, MAPS * DEPTH)
#define MASK_ARGUMENT CONSTANT_ARGUMENT(float, mask)
#define WEIGHT(at) mask[at]
#else
#define MASK_ARGUMENT
#define WEIGHT(at) weights[at]
#endif

// Where a block's image begins, and its result.
#if STAGED
#define IMAGE x
#define RESULT out
#else
#define IMAGE (x + (size_t)blockIdx.z * CHANNELS * SIZE * SIZE)
#define RESULT (out + (size_t)blockIdx.z * MAPS * PIXELS)
#endif

// Element (k, column) of the right matrix; beyond its last row or column lies zero.
__device__ __forceinline__ float unrolled(const GLOBAL float* image, int k, int column, int columns)
{
    if (k >= DEPTH || column >= columns) return 0.0f;
#if STAGED
    return image[(size_t)k * columns + column];
#else
    int c = k / (MASK * MASK), p = k / MASK % MASK, q = k % MASK;
    int row = column / OUT_SIZE + p;
    return image[(c * SIZE + row) * SIZE + column % OUT_SIZE + q];
#endif
}
