// What operations fuse, by macros of the problem, where it has them:
//   ACTIVATION (0 none, 1 relu, 2 sigmoid, 3 tanh)
//   POOL_AVERAGE POOL_HEIGHT POOL_WIDTH

#pragma once

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

// The pool's running value: before its first element, with one more, and at its end.
#if POOL_AVERAGE
#define POOL_START 0.0f
#define POOL_WITH(pooled, y) ((pooled) + (y))
#define POOL_END(pooled) ((pooled) / (float)(POOL_HEIGHT * POOL_WIDTH))
#else
#define POOL_START (-INFINITY)
#define POOL_WITH(pooled, y) maximum(pooled, y)
#define POOL_END(pooled) (pooled)
#endif
