// Hopper's warpgroup products (wgmma, float32 sums) and nothing else; CUDA only, sm_90a.
// Both operands are read from shared memory by descriptors, as kernels do that reach this rate.
// One block a multiprocessor; each of its WARPGROUPS has 64 rows of its own, and all share
// the columns.  A chain of products runs over STAGES of 128 bytes a row, then
// begins anew, STEPS times: no sum grows beyond real problems' sums. The products of
// a stage are one set, and the next set is issued while it runs.
//
// x[STAGES][64 WARPGROUPS + COLUMNS][8]: rows, then columns, 128 bytes each, in the cores' type;
// out[blocks][64 WARPGROUPS][COLUMNS]: the last sums.

#include "common/pipelines/wgmma.h"

#define ROWS (64 * WARPGROUPS)
#define STAGE_BYTES ((ROWS + COLUMNS) * 128)

// A piece's 16 bytes lie where its row's number, modulo 8, moves them.
__device__ __forceinline__ void fill(uint4* stages, const uint4* x)
{
    for (int i = threadIdx.x; i < STAGES * (ROWS + COLUMNS) * 8; i += blockDim.x)
        stages[i ^ (i / 8 % 8)] = x[i];
    fence_proxy_async();
    __syncthreads();
}

// A thread holds, of every eight columns, two of each of two rows.
__device__ __forceinline__ void store(float* out, const float sum[COLUMNS / 2])
{
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    UNROLL for (int i = 0; i < COLUMNS / 2; i++) {
        int at = row + ROW_OF(i), column = lane % 4 * 2 + COLUMN_OF(i);
        out[((size_t)blockIdx.x * ROWS + at) * COLUMNS + column] = sum[i];
    }
}

__global__ __launch_bounds__(128 * WARPGROUPS, 1) void wgmma_chains(const uint4* __restrict__ x,
                                                                float* __restrict__ out)
{
    extern __shared__ __align__(1024) uint4 stages[];
    float sum[COLUMNS / 2];
    fill(stages, x);
    unsigned first = (unsigned)__cvta_generic_to_shared(stages);
    unsigned rows = first + threadIdx.x / 128 * 64 * 128, columns = first + ROWS * 128;
    ROLLED for (int step = 0; step < STEPS; step++)
        UNROLL for (int stage = 0; stage < STAGES; stage++) {
            word a = swizzled_descriptor(rows + stage * STAGE_BYTES, 1024);
            word b = swizzled_descriptor(columns + stage * STAGE_BYTES, 1024);
            wgmma_fence();
            UNROLL for (int k = 0; k < 4; k++)
                WGMMA(sum, a + 2 * k, b + 2 * k, stage + k > 0);
            wgmma_commit();
            WGMMA_WAIT(1);
        }
    WGMMA_WAIT(0);
    store(out, sum);
}
