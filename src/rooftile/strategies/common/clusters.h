// Clusters of CLUSTER blocks (sm_90a) that share what they copy, and the ring of STAGES stages of
// STAGE_BYTES each that one thread fills and WARPGROUPS warpgroups of every block empty.

#pragma once

#include "common/barriers.h"

__device__ __forceinline__ int rank_in_cluster()
{
    return CLUSTER == 1 ? 0 : blockIdx.x % CLUSTER;
}

// Copies a tensor map's box to the same place of shared memory in those blocks of the cluster whose
// bits are set.
__device__ __forceinline__ void copy_box_to(unsigned blocks, unsigned to, const tensor_map* map,
                                            int x, int y, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier), "h"((unsigned short)blocks)
                 : "memory");
}

// A warp says to all blocks that copy to a stage that it is done with it, unless it has said so.
__device__ __forceinline__ void leave(unsigned* barrier)
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
    release(barrier);
#endif
}

// All threads of the cluster meet.
__device__ __forceinline__ void meet_all()
{
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// The same of threads that have read what they wanted of each other: nobody waits for stores.
__device__ __forceinline__ void meet_to_end()
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// The threads of those blocks meet that share what they copy.
__device__ __forceinline__ void meet_cluster()
{
#if CLUSTER > 1
    meet_all();
#else
    __syncthreads();
#endif
}

// A block's threads say that they tell other blocks of no more stages, and later wait until all
// others' have said so.  Those of a block on its own only meet.
__device__ __forceinline__ void leave_cluster()
{
#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void await_cluster()
{
#if CLUSTER > 1
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}

// Sets up the ring's barriers, which lie behind its stages.  Returns their address.
__device__ __forceinline__ unsigned set_up(unsigned stages)
{
    unsigned barriers = stages + STAGES * STAGE_BYTES;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            expect(1, FULL(barriers, s));
            expect(4 * WARPGROUPS * CLUSTER, EMPTY(barriers, s, STAGES));
        }
        barriers_ready();
    }
    meet_cluster();
    return barriers;
}
