// A tile's taps shared out to the PARTS blocks of a cluster: each leaves its sums in its own shared
// memory, and adds up some slices of 32 results from all blocks' memory, in the same order in each
// run.

#pragma once

#include "conv2d/gpu/implicit_gemm/product.h"

#define SLICE 32
#define RESULTS (PIXELS / (POOL_HEIGHT * POOL_WIDTH))
// Sums of a thread behind its results of a slice.
#define SLICE_SUMS (SLICE / 2 * POOL_HEIGHT * POOL_WIDTH)

#if PARTS > 1
#define IN_CLUSTERS __cluster_dims__(PARTS, 1, 1)
// True if the block adds up the slice that begins at this result.
#define OWN_SLICE(first) ((first) / SLICE % PARTS == blockIdx.x % PARTS)

// Waits for all threads of the cluster that are still there.
__device__ __forceinline__ void meet_parts()
{
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// The value at an address of shared memory in another block of the cluster.
__device__ __forceinline__ float in_block(unsigned address, int block)
{
    float value;
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %1, %2; "
                 "ld.shared::cluster.f32 %0, [there]; }"
                 : "=f"(value)
                 : "r"(address), "r"(block)
                 : "memory");
    return value;
}

// Sums lie [sums of a thread][threads], where patches and weights were.
__device__ __forceinline__ void add_parts(float sum[SUMS], struct places in)
{
    const int threads = 256;
    unsigned own = in.patches + (threadIdx.x - 128) * 4;
    meet_parts();
    UNROLL for (int e = 0; e < SUMS; e++)
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(own + e * threads * 4), "f"(sum[e])
                     : "memory");
    meet_parts();
    UNROLL for (int e = 0; e < SUMS; e++)
        if (OWN_SLICE(e / SLICE_SUMS * SLICE)) {
            sum[e] = 0.0f;
            UNROLL for (int part = 0; part < PARTS; part++)
                sum[e] += in_block(own + e * threads * 4, part);
        }
    // Until then the others' memory must be there.
    meet_parts();
}
#else
#define IN_CLUSTERS
#define OWN_SLICE(first) true
__device__ __forceinline__ void add_parts(float sum[SUMS], struct places in) {}
#endif
