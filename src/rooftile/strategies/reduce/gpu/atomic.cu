// atomic: persistent blocks, whose partial results meet in the result itself.
//
// In `persistent`, a second kernel joins the partial results.  Here each block combines its own with
// the result by one atomic, after `clear` has made that the identity.  What it removes: the partial
// results.  What it costs: blocks come in any order, so that rounding differs from run to run.
//
// The operator is any: an atomic that hardware lacks is a loop of compare-and-swap.
//
// x[slabs][columns][inner], results[rows] of 4 bytes.
// Grid: x over segments, y over rows; of `clear`, x over blocks of rows.
// Block: x over THREADS (a power of two) threads.

#define FAMILY atomic
#include "persistent.h"

#ifdef __OPENCL_VERSION__
#define atomicCAS atomic_cmpxchg
#define __float_as_int as_int
#endif
#if REAL
#define BITS_OF(value) __float_as_int(value)
#define VALUE_OF(bits) __int_as_float(bits)
#else
#define BITS_OF(value) (value)
#define VALUE_OF(bits) (bits)
#endif

__global__ void atomic_clear(GLOBAL result* results, int rows)
{
    int64 row = (int64)blockIdx.x * THREADS + threadIdx.x;
    if (row < rows) results[row] = IDENTITY;
}

__global__ void LAUNCH_BOUNDS(THREADS)
atomic(const GLOBAL given* __restrict__ x, GLOBAL result* results, int rows, int64 columns,
       int64 inner)
{
    __shared__ carried joined[THREADS];
    for (int64 row = blockIdx.y; row < rows; row += gridDim.y) {
        carried total = tree_of(joined, threadIdx.x, THREADS, of_share(x, row, columns, inner));
        if (threadIdx.x == 0) {
            GLOBAL int* place = (GLOBAL int*)(results + row);
            int seen = *place, expected;
            do {
                expected = seen;
                seen = atomicCAS(place, expected, BITS_OF(combined(VALUE_OF(expected), total)));
            } while (seen != expected);
        }
        // The next row's values overwrite what this one's tree has read.
        __syncthreads();
    }
}
