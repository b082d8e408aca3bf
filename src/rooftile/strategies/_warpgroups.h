// Before texts that use Hopper's bulk copy engine and warpgroups' products (sm_90a): barriers in
// shared memory, rings of buffers, and how matrices lie there.

typedef unsigned long long word;
struct __align__(64) tensor_map { word words[16]; };

// Barriers of shared memory, by address.

__device__ __forceinline__ void expect(unsigned arrivals, unsigned barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
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

// A place in a ring of buffers, and how often the ring has gone round, modulo 2.
struct turn { int at, round; };

__device__ __forceinline__ void advance(struct turn* turn, int count)
{
    if (++turn->at == count) turn->at = 0, turn->round ^= 1;
}

// A ring's barriers: `full` for each of its buffers, then `empty`.
#define FULL(barriers, at) ((barriers) + 8 * (at))
#define EMPTY(barriers, at, count) ((barriers) + 8 * ((count) + (at)))

// Rows of 128 bytes, swizzled; `pitch` bytes from eight rows to the next eight.
__device__ __forceinline__ word matrix(unsigned address, unsigned pitch)
{
    return (word)(address >> 4) | (word)1 << 16 | (word)(pitch >> 4) << 32 | (word)1 << 62;
}

#define IN_FLIGHT(count) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(count) : "memory")

// A warp is done with a buffer, unless it has said so.
__device__ __forceinline__ void release(unsigned* barrier)
{
    if (*barrier && threadIdx.x % 32 == 0) arrive(*barrier);
    *barrier = 0;
}

