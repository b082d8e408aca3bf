// Hopper's barriers in shared memory, by address, the bulk copies that arrive there, and rings of
// buffers between those who fill and those who empty them.  CUDA only, from sm_90 on.

#pragma once

typedef unsigned long long word;
struct __align__(64) tensor_map { word words[16]; };

__device__ __forceinline__ void expect(unsigned arrivals, unsigned barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}

// Makes barriers that this thread has set up known to the copy engine.
__device__ __forceinline__ void barriers_ready()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void expect_bytes(unsigned bytes, unsigned barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void wait(unsigned barrier, int parity)
{
    unsigned passed = 0;
    while (!passed)
        asm volatile("{ .reg .pred p; "
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(passed)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}

// Copies bytes, a multiple of 16, to shared memory.
__device__ __forceinline__ void copy_bytes(unsigned to, const void* from, unsigned bytes,
                                           unsigned barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

// Starts to copy bytes, a multiple of 16, from shared memory, as part of this thread's group of stores.
__device__ __forceinline__ void store_bytes(void* to, unsigned from, unsigned bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(bytes)
                 : "memory");
}

// The stores that this thread has started since the last call are a group.
__device__ __forceinline__ void end_stores()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until no more than so many groups of this thread's stores, the latest, may still read shared
// memory.
#define STORES_LEFT(groups) \
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory")

// Asks for a tensor map, which the first copy would wait for.
__device__ __forceinline__ void ask_for(const tensor_map* map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Copies a tensor map's box to shared memory; its place is given from the innermost axis outwards.
__device__ __forceinline__ void copy_box_2(unsigned to, const tensor_map* map, int x, int y,
                                           unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void copy_box_4(unsigned to, const tensor_map* map, int x, int y, int z,
                                           int w, unsigned barrier)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier)
                 : "memory");
}

// Waits for the launch before this one, where both overlap; and lets the next one begin to do so.
__device__ __forceinline__ void await_earlier()
{
    asm volatile("griddepcontrol.wait;\ngriddepcontrol.launch_dependents;" ::: "memory");
}

// A turn in a ring of buffers: the buffer's place, and how often the ring has gone round, modulo 2.
struct turn { int at, round; };

__device__ __forceinline__ void advance(struct turn* turn, int count)
{
    if (++turn->at == count) turn->at = 0, turn->round ^= 1;
}

// A ring's barriers: one for each buffer that says it is full, then one for each that says it is
// empty.
#define FULL(barriers, at) ((barriers) + 8 * (at))
#define EMPTY(barriers, at, count) ((barriers) + 8 * ((count) + (at)))

// A warp says that it is done with a buffer, unless it has said so before.
__device__ __forceinline__ void release(unsigned* barrier)
{
    if (*barrier && threadIdx.x % 32 == 0) arrive(*barrier);
    *barrier = 0;
}
