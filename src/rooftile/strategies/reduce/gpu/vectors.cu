// Rung 3, vectors: persistent segments, LOADS vectors of 16 bytes in flight a thread.
//
// In `tree`, a thread loads twice and then waits at barriers, and every block writes a partial sum.
// Here a team of TEAM threads walks along its segment of a row.  Each thread has LOADS independent
// sums, a vector each, so that as many loads are under way; only then come the tree and one
// partial sum a segment.  There are no more segments than keep the device busy.  What it removes:
// waiting for memory, nearly all barriers and partial sums.
//
// Where rows begin at no multiple of 16 bytes, VECTOR is 1.
//
// x[rows][columns], partials[rows][segments], sums[rows].
// Grid: x over segments, y over runs of ROWS rows.
// Block: x over TEAM (a power of two, the tunable GROUP) threads of a row, y over ROWS rows.

#include "finish.h"

#if VECTOR == 1
typedef given vector;
#elif BYTES
typedef uint4 vector;
#else
typedef float4 vector;
#endif

// The four bytes of a word: two pairs of 16 bits, then one sum.
__device__ __forceinline__ unsigned of_bytes(unsigned word)
{
    unsigned pairs = (word & 0x00ff00ff) + ((word >> 8) & 0x00ff00ff);
    return (pairs & 0xffff) + (pairs >> 16);
}

__device__ __forceinline__ total of_vector(vector v)
{
#if VECTOR == 1
    return v;
#elif BYTES
    return of_bytes(v.x) + of_bytes(v.y) + of_bytes(v.z) + of_bytes(v.w);
#else
    return (v.x + v.y) + (v.z + v.w);
#endif
}

__global__ void LAUNCH_BOUNDS(TEAM * ROWS)
segments(const GLOBAL given* __restrict__ x, GLOBAL total* __restrict__ partials, int rows,
         int64 columns)
{
    __shared__ total joined[TEAM * ROWS];
    int lane = threadIdx.x, thread = threadIdx.y * TEAM + lane;
    int64 row = (int64)blockIdx.y * ROWS + threadIdx.y;
    // Rows beyond the last are those of the last, and are not written.
    const GLOBAL given* elements = x + (row < rows ? row : rows - 1) * columns;
    const GLOBAL vector* vectors = (const GLOBAL vector*)elements;
    int64 count = columns / VECTOR, stride = (int64)gridDim.x * TEAM;
    int64 at = (int64)blockIdx.x * TEAM + lane;

    total own[LOADS];
    UNROLL
    for (int i = 0; i < LOADS; i++) own[i] = 0;
    for (; at + (LOADS - 1) * stride < count; at += LOADS * stride) {
        vector loaded[LOADS];
        UNROLL
        for (int i = 0; i < LOADS; i++) loaded[i] = vectors[at + i * stride];
        UNROLL
        for (int i = 0; i < LOADS; i++) own[i] += of_vector(loaded[i]);
    }
    for (; at < count; at += stride) own[0] += of_vector(vectors[at]);
    // What is left behind the last whole vector.
    int64 last = count * VECTOR + lane;
    if (blockIdx.x == 0 && last < columns) own[0] += elements[last];

    total sum = 0;
    UNROLL
    for (int i = 0; i < LOADS; i++) sum += own[i];
    sum = tree(joined, thread, TEAM, sum);
    if (lane == 0 && row < rows) partials[row * gridDim.x + blockIdx.x] = sum;
}
