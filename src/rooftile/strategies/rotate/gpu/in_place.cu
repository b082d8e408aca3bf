// in_place: a block holds a row in its registers while it is written; x and y may be one.
//
// All threads have read before any writes: that is what the barrier is for.  A row has as many
// elements as the block holds, HELD a thread.
//
// x[rows][columns], y[rows][columns].
// Grid: x over blocks, which take rows a grid apart.
// Block: x over BLOCK columns at a time.

#include "common/elements.h"

__global__ void LAUNCH_BOUNDS(BLOCK)
in_place(const GLOBAL element* x, GLOBAL element* y, int64 rows, int columns, int places)
{
    for (int64 i = blockIdx.x; i < rows; i += gridDim.x) {
        element held[HELD];
        UNROLL
        for (int k = 0; k < HELD; k++) {
            int j = k * BLOCK + threadIdx.x;
            if (j < columns) held[k] = x[i * columns + j];
        }
#ifdef __OPENCL_VERSION__
        barrier(CLK_GLOBAL_MEM_FENCE);
#else
        __syncthreads();
#endif
        UNROLL
        for (int k = 0; k < HELD; k++) {
            int j = k * BLOCK + threadIdx.x, to = j + places;
            if (j < columns) y[i * columns + (to < columns ? to : to - columns)] = held[k];
        }
    }
}
