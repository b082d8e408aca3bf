// A column of TILE_Z sums a thread, over an input tile in shared memory.
//
// Sums above each other share most of their inputs: a value that is read from shared memory once is
// used by as many sums of the thread as the mask is deep.
//
// Block: TILE_X x TILE_Y threads.

#include "common/volumes.h"

#define LOADED_Z (TILE_Z + MASK_DEPTH - 1)
#define LOADED_Y (TILE_Y + MASK_HEIGHT - 1)
#define LOADED_X (TILE_X + MASK_WIDTH - 1)
#define LOADED (LOADED_Z * LOADED_Y * LOADED_X)
#define THREADS (TILE_X * TILE_Y)

CONSTANT_ARRAY(float, taps, TAPS)

// All of the block's inputs of a channel.
__device__ __forceinline__ void load(const GLOBAL float* volume, SHARED float* inputs, int thread)
{
    for (int e = thread; e < LOADED; e += THREADS) {
        int k = e / (LOADED_Y * LOADED_X), i = e / LOADED_X % LOADED_Y, j = e % LOADED_X;
        inputs[e] = element(volume, TILE_PLANE - BEFORE_Z + k, TILE_ROW - BEFORE_Y + i,
                            TILE_COLUMN - BEFORE_X + j);
    }
}

__global__ void LAUNCH_BOUNDS(THREADS)
FAMILY(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out,
       int last CONSTANT_ARGUMENT(float, taps))
{
    __shared__ float inputs[LOADED];
    int i = threadIdx.y, j = threadIdx.x;
    const SHARED float* own = inputs + i * LOADED_X + j;

    float made[TILE_Z];
    UNROLL for (int k = 0; k < TILE_Z; k++) made[k] = 0.0f;
    for (int c = 0; c < CHANNELS; c++) {
        load(channel_of(x, c), inputs, i * TILE_X + j);
        __syncthreads();
        UNROLL for (int p = 0; p < MASK_HEIGHT; p++)
            UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                UNROLL for (int e = 0; e < LOADED_Z; e++)
                    UNROLL for (int k = 0; k < TILE_Z; k++) {
                        int d = e - k;
                        if (d >= 0 && d < MASK_DEPTH && IS_TAP(d, p, q))
                            made[k] += taps[TAP(TILE_MAP, c, d, p, q)] *
                                       own[(e * LOADED_Y + p) * LOADED_X + q];
                    }
        __syncthreads();
    }
    UNROLL for (int k = 0; k < TILE_Z; k++)
        put(out, TILE_PLANE + k, TILE_ROW + i, TILE_COLUMN + j, made[k], last);
}
