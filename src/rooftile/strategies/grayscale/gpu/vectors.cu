// vectors: sixteen pixels a thread, 48 bytes in and 16 out, by way of shared memory.
//
// In `naive` a warp's load brings 32 bytes, one of every three, and three such loads touch the same
// sectors; a store writes 32 bytes.  Here the block brings its bytes as vectors that follow each
// other, and each thread takes the three of its pixels from shared memory.  Their distance of 12
// words lets the eight threads that are served at once read different banks.  What it removes: all
// narrow accesses to device memory.
//
// image[count][3], gray[count].
// Grid: x over blocks of BLOCK runs.
// Block: x over BLOCK runs of sixteen pixels.

#include "weigh.h"

#define RUN 16

// One byte of three words.
#define BYTE(words, i) ((words)[(i) / 4] >> 8 * ((i) % 4) & 0xff)

// Four pixels from three words.
__device__ __forceinline__ unsigned four(unsigned first, unsigned second, unsigned third, int red,
                                         int green, int blue)
{
    unsigned words[3] = {first, second, third}, made = 0;
    UNROLL
    for (int p = 0; p < 4; p++)
        made |= weighed(BYTE(words, 3 * p), BYTE(words, 3 * p + 1), BYTE(words, 3 * p + 2), red,
                        green, blue)
                << 8 * p;
    return made;
}

__global__ void LAUNCH_BOUNDS(BLOCK)
vectors(const GLOBAL unsigned char* __restrict__ image, GLOBAL unsigned char* __restrict__ gray,
        int64 count, int red, int green, int blue)
{
    __shared__ uint4 brought[3 * BLOCK];
    const GLOBAL uint4* vectors = (const GLOBAL uint4*)image;
    int64 runs = count / RUN, first = (int64)blockIdx.x * BLOCK, run = first + threadIdx.x;
    UNROLL
    for (int k = 0; k < 3; k++) {
        int64 at = 3 * first + k * BLOCK + threadIdx.x;
        if (at < 3 * runs) brought[k * BLOCK + threadIdx.x] = vectors[at];
    }
    __syncthreads();
    if (run < runs) {
        uint4 a = brought[3 * threadIdx.x], b = brought[3 * threadIdx.x + 1];
        uint4 c = brought[3 * threadIdx.x + 2], made;
        made.x = four(a.x, a.y, a.z, red, green, blue);
        made.y = four(a.w, b.x, b.y, red, green, blue);
        made.z = four(b.z, b.w, c.x, red, green, blue);
        made.w = four(c.y, c.z, c.w, red, green, blue);
        ((GLOBAL uint4*)gray)[run] = made;
    }
    // The last block takes the pixels behind the last whole run.
    int64 last = runs * RUN + threadIdx.x;
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x < RUN && last < count)
        gray[last] = weighed(image[3 * last], image[3 * last + 1], image[3 * last + 2], red, green,
                             blue);
}
