// vectors: loads and stores of 16 bytes, LOADS of each array in flight a thread.
//
// Below, a warp's load brings 128 bytes, and a thread waits for each before it computes.  Here it
// brings 512, and a thread asks for all of its vectors before it needs the first.  What it
// removes: three of four instructions that access memory, and waiting with little under way.
//
// x[count], y[count], alpha[1], out[count].
// Grid: x over blocks of LOADS sections.
// Block: x over the BLOCK vectors of a section.

#include "elementwise.h"

// The content of a vector's register: a number, two of 16 bits, or integers of which each has one
// of the bits TOPS as its first. The first bits are added separately, so that no integer carries
// into the next one.
#if TOPS
__device__ __forceinline__ unsigned of_register(unsigned x, unsigned y, NUMBER alpha)
{
    // Of bool any byte but 0 is true: all of its bits are gathered in the last one.
    unsigned either = x | y;
    either |= either >> 4 & 0x0f0f0f0fu;
    either |= either >> 2 & 0x03030303u;
    either |= either >> 1 & 0x01010101u;
    return LOGICAL ? either & 0x01010101u : ((x & ~TOPS) + (y & ~TOPS)) ^ ((x ^ y) & TOPS);
}
#elif NARROW_NUMBERS
__device__ __forceinline__ pair of_register(pair x, pair y, NUMBER alpha)
{
    return combined(x & 0xffff, y & 0xffff, alpha) | (pair)combined(x >> 16, y >> 16, alpha) << 16;
}
#else
#define of_register combined
#endif

// The results of a vector of x, one of y and alpha.
__device__ __forceinline__ VECTOR of_vectors(VECTOR x, VECTOR y, NUMBER alpha)
{
    VECTOR made;
    made.x = of_register(x.x, y.x, alpha);
    made.y = of_register(x.y, y.y, alpha);
#if WIDTH >= 4
    made.z = of_register(x.z, y.z, alpha);
    made.w = of_register(x.w, y.w, alpha);
#endif
    return made;
}

__global__ void LAUNCH_BOUNDS(BLOCK)
vectors(const GLOBAL NUMBER* __restrict__ x, const GLOBAL NUMBER* __restrict__ y,
        const GLOBAL NUMBER* __restrict__ alpha, GLOBAL NUMBER* __restrict__ out, int64 count)
{
    const GLOBAL VECTOR* xs = (const GLOBAL VECTOR*)x;
    const GLOBAL VECTOR* ys = (const GLOBAL VECTOR*)y;
    GLOBAL VECTOR* outs = (GLOBAL VECTOR*)out;
    int64 whole = count / WIDTH, first = (int64)blockIdx.x * BLOCK * LOADS + threadIdx.x;
    if (first + (LOADS - 1) * BLOCK < whole) {
        VECTOR from_x[LOADS], from_y[LOADS];
        UNROLL
        for (int v = 0; v < LOADS; v++) {
            from_x[v] = xs[first + v * BLOCK];
            from_y[v] = ys[first + v * BLOCK];
        }
        UNROLL
        for (int v = 0; v < LOADS; v++)
            outs[first + v * BLOCK] = of_vectors(from_x[v], from_y[v], *alpha);
    } else {
        ROLLED
        for (int64 v = first; v < whole; v += BLOCK) outs[v] = of_vectors(xs[v], ys[v], *alpha);
    }
    // The last block takes what is left behind the last whole vector.
    int64 last = whole * WIDTH + threadIdx.x;
    if (blockIdx.x == gridDim.x - 1 && last < count) out[last] = combined(x[last], y[last], *alpha);
}
