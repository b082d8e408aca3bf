// Before every kernel text of conv2d.  The problem's sizes are macros:
//   CHANNELS HEIGHT WIDTH MAPS MASK_HEIGHT MASK_WIDTH STRIDE_Y STRIDE_X PAD_Y PAD_X
//   CONV_ROWS CONV_COLUMNS (of the convolution, as far as the pool reads them)
//   ROWS COLUMNS (of the result)
//   POOL_HEIGHT POOL_WIDTH POOL_STRIDE_Y POOL_STRIDE_X POOL_AVERAGE (1x1 without a pool)
//   ACTIVATION (0 none, 1 relu, 2 sigmoid, 3 tanh)
// Offsets of images are 64-bit, so that arrays may have more than 2^31 elements.

#define IMAGE_SIZE (CHANNELS * HEIGHT * WIDTH)
#define RESULT_SIZE (MAPS * ROWS * COLUMNS)
#define MASK_SIZE (MASK_HEIGHT * MASK_WIDTH)

__device__ __forceinline__ float activate(float z)
{
#if ACTIVATION == 1
    return relu(z);
#elif ACTIVATION == 2
    return sigmoid(z);
#elif ACTIVATION == 3
    return tanhf(z);
#else
    return z;
#endif
}

// The pool's running value, before its first element and with one more.
#if POOL_AVERAGE
#define POOL_START 0.0f
#define POOL_STEP(pooled, y) ((pooled) + (y))
#define POOL_END(pooled) ((pooled) / (float)(POOL_HEIGHT * POOL_WIDTH))
#else
#define POOL_START (-INFINITY)
#define POOL_STEP(pooled, y) maximum(pooled, y)
#define POOL_END(pooled) (pooled)
#endif

// One element of an image's channel; ghost cells are zero.
__device__ __forceinline__ float pixel(const GLOBAL float* channel, int i, int j)
{
    return i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH ? channel[i * WIDTH + j] : 0.0f;
}
