// Clusters of CLUSTER blocks (sm_90a) that share what they copy, and the ring of STAGES stages of
// STAGE_BYTES each that one thread fills and WARPGROUPS warpgroups of every block empty.

#pragma once

#include "common/pipelines/stages.h"
#include "common/pipelines/tma.h"

__device__ __forceinline__ int rank_in_cluster()
{
    return CLUSTER == 1 ? 0 : blockIdx.x % CLUSTER;
}

// A warp says to all blocks that copy to a stage that it is done with it, unless it has said so.
__device__ __forceinline__ void cluster_consumer_release(unsigned* barrier)
{
#if CLUSTER > 1
    int lane = threadIdx.x % 32;
    if (*barrier && lane < CLUSTER)
        asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
                     "mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(*barrier),
                     "r"(lane)
                     : "memory");
    *barrier = 0;
#else
    consumer_release(barrier);
#endif
}

// All threads of the cluster meet.
__device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// The same of threads that have read what they wanted of each other: nobody waits for stores.
__device__ __forceinline__ void cluster_sync_relaxed()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// The threads of those blocks meet that share what they copy.
__device__ __forceinline__ void sync_sharers()
{
#if CLUSTER > 1
    cluster_sync();
#else
    __syncthreads();
#endif
}

// A block's threads arrive once they signal other blocks no more stages, and later wait until all
// others have arrived. The threads of a block on its own only meet.
__device__ __forceinline__ void cluster_arrive()
{
#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_wait()
{
#if CLUSTER > 1
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}

// Sets up the pipeline's barriers, which follow its stages.  Returns their address.
__device__ __forceinline__ unsigned init_pipeline(unsigned stages)
{
    unsigned barriers = stages + STAGES * STAGE_BYTES;
    if (threadIdx.x == 0) {
        init_stages(barriers, STAGES, 1, 4 * WARPGROUPS * CLUSTER);
        fence_barrier_init();
    }
    sync_sharers();
    return barriers;
}
