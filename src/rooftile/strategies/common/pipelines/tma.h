// The tensor memory accelerator, TMA: copies between device and shared memory that one thread starts and
// that arrive at a barrier.  CUDA only, from sm_90 on.

#pragma once

#include "common/pipelines/barriers.h"

struct __align__(64) tensor_map { word words[16]; };

// Copies bytes, a multiple of 16, to shared memory.
__device__ __forceinline__ void tma_load_1d(unsigned to, const void* from, unsigned bytes,
                                           unsigned barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

// Starts to copy bytes, a multiple of 16, from shared memory, as part of this thread's group of stores.
__device__ __forceinline__ void tma_store_1d(void* to, unsigned from, unsigned bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(bytes)
                 : "memory");
}

// The stores that this thread has started since the last call are a group.
__device__ __forceinline__ void tma_store_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until at most the latest `groups` groups of this thread's stores may still read shared
// memory.
#define TMA_STORE_WAIT(groups) \
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory")

// Brings a tensor map to the cache, for which the first copy would wait.
__device__ __forceinline__ void prefetch_tensormap(const tensor_map* map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Copies a tensor map's box to shared memory; its place is given from the innermost axis outwards.
__device__ __forceinline__ void tma_load_2d(unsigned to, const tensor_map* map, int x, int y,
                                           unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void tma_load_4d(unsigned to, const tensor_map* map, int x, int y, int z,
                                           int w, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier)
                 : "memory");
}

// Copies a tensor map's box to the same place of shared memory in those blocks of the cluster whose
// bits are set.
__device__ __forceinline__ void tma_load_2d_multicast(unsigned blocks, unsigned to, const tensor_map* map,
                                            int x, int y, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier), "h"((unsigned short)blocks)
                 : "memory");
}

// Makes what threads have written to shared memory visible to products and the copy engine.
__device__ __forceinline__ void fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
