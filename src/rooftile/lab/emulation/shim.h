// CUDA's words for a host: a fiber for each thread of a block, blocks one after another.
// Instructions of tensor cores are computed as such cores do, in step of their warps.
//
// Few headers are included, since every kernel's text is compiled with them.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fenv.h>
#include <initializer_list>
#include <unistd.h>

// As the functions that kernels call: of shared memory, a section holds either kind alone.
#define __global__ inline
#define __device__
#define __constant__
#define __grid_constant__
#define __shared__ __attribute__((section("shared"))) static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __restrict__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)

using std::isfinite;
template <class T> static T max(T a, T b) { return a < b ? b : a; }
template <class T> static T min(T a, T b) { return b < a ? b : a; }

struct dim3 { unsigned x, y, z; };
static dim3 threadIdx, blockIdx, blockDim, gridDim;

template <class T, int n> struct alignas(n * sizeof(T)) vector2 { T x, y; };
template <class T, int n> struct alignas(n * sizeof(T)) vector4 { T x, y, z, w; };
typedef vector2<float, 2> float2;
typedef vector4<float, 4> float4;
typedef vector2<unsigned, 2> uint2;
typedef vector2<int, 2> int2;
typedef vector4<unsigned, 4> uint4;
static float2 make_float2(float x, float y) { return {x, y}; }
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

template <class To, class From> static To bits_of(From from)
{
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static float __int_as_float(int bits) { return bits_of<float>(bits); }
static float __uint_as_float(unsigned bits) { return bits_of<float>(bits); }
static unsigned __float_as_uint(float value) { return bits_of<unsigned>(value); }
static int __float_as_int(float value) { return bits_of<int>(value); }
static int __ffs(unsigned bits) { return __builtin_ffs(bits); }
static int __popc(unsigned bits) { return __builtin_popcount(bits); }
static unsigned __byte_perm(unsigned low, unsigned high, unsigned digits)
{
    uint64_t both = (uint64_t)high << 32 | low;
    unsigned made = 0;
    for (int byte = 0; byte < 4; byte++) made |= (unsigned)(both >> 8 * (digits >> 4 * byte & 7) & 0xff) << 8 * byte;
    return made;
}
// As PTX has it: a digit's highest bit asks for the byte's sign, eight times.
static void prmt(unsigned& made, unsigned low, unsigned high, unsigned digits)
{
    made = __byte_perm(low, high, digits);
    for (int byte = 0; byte < 4; byte++)
        if (digits >> 4 * byte & 8) {
            unsigned all = 0xffu << 8 * byte, sign = made >> 8 * byte & 0x80;
            made = sign ? made | all : made & ~all;
        }
}
static double cospi(double x) { return cos(M_PI * x); }
static double sinpi(double x) { return sin(M_PI * x); }
template <class T> static T __ldcs(const T* from) { return *from; }
template <class T> static T __ldg(const T* from) { return *from; }

static const int MOST_THREADS = 1024;
#include "fibers.h"

// Threads in step.

static barrier block_barrier, warp_barriers[32], named_barriers[16];
static unsigned thread_of() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
static void __syncthreads() { meet(block_barrier); }
static void __syncwarp(unsigned = ~0u) { meet(warp_barriers[thread_of() / 32]); }
// So many threads meet, always as many at a barrier.
UNSEEN static void bar_sync(int id, int threads = 128)
{
    barrier& state = named_barriers[id];
    if (state.expected != threads) state = {threads, threads};
    meet(state);
}

static uint64_t exchanged[MOST_THREADS];
// What `pick` makes of what all lanes of the warp give.
template <class T, class Pick> static T in_warp(T given, Pick pick)
{
    unsigned thread = thread_of();
    memcpy(exchanged + thread, &given, sizeof given);
    __syncwarp();
    T result = pick([&](unsigned lane) {
        T of_lane;
        memcpy(&of_lane, exchanged + thread / 32 * 32 + lane, sizeof of_lane);
        return of_lane;
    });
    __syncwarp();
    return result;
}
template <class T> static T __shfl_xor_sync(unsigned, T given, int mask)
{
    return in_warp(given, [&](auto of) { return of(thread_of() % 32 ^ mask); });
}
template <class T> static T __shfl_sync(unsigned, T given, int lane)
{
    return in_warp(given, [&](auto of) { return of(lane); });
}
template <class T> static T __shfl_up_sync(unsigned, T given, unsigned by)
{
    return in_warp(given, [&](auto of) {
        unsigned lane = thread_of() % 32;
        return of(lane < by ? lane : lane - by);
    });
}
template <class T> static T __shfl_down_sync(unsigned, T given, unsigned by)
{
    return in_warp(given, [&](auto of) {
        unsigned lane = thread_of() % 32;
        return of(lane + by > 31 ? lane : lane + by);
    });
}
// What a warp's numbers come to, one after another.
template <class Pick> static unsigned reduced(unsigned given, Pick pick)
{
    return in_warp(given, [&](auto of) {
        unsigned all = of(0);
        for (int lane = 1; lane < 32; lane++) all = pick(all, of(lane));
        return all;
    });
}
static unsigned either(unsigned a, unsigned b) { return a | b; }
static bool __any_sync(unsigned, bool given) { return reduced(given, either); }
static unsigned __ballot_sync(unsigned, bool given)
{
    return reduced((unsigned)given << thread_of() % 32, either);
}
static unsigned __reduce_or_sync(unsigned, unsigned given) { return reduced(given, either); }
static unsigned __reduce_max_sync(unsigned, unsigned given)
{
    return reduced(given, [](unsigned a, unsigned b) { return max(a, b); });
}
static unsigned __reduce_min_sync(unsigned, unsigned given)
{
    return reduced(given, [](unsigned a, unsigned b) { return min(a, b); });
}

// Whether any thread of the block is given true.
static int __syncthreads_or(int given)
{
    exchanged[thread_of()] = given;
    __syncthreads();
    int any = 0;
    for (unsigned thread = 0; thread < blockDim.x * blockDim.y * blockDim.z; thread++) any |= exchanged[thread] != 0;
    __syncthreads();
    return any;
}

// Global memory that other blocks look at: blocks run one after another.
template <class T> static T atomicAdd(T* address, T value)
{
    T before, now;
    __atomic_load(address, &before, __ATOMIC_RELAXED);
    now = before + value;
    __atomic_store(address, &now, __ATOMIC_RELAXED);
    return before;
}
template <class T> static T atomicOr(T* address, T value)
{
    T before = __atomic_load_n(address, __ATOMIC_RELAXED);
    __atomic_store_n(address, before | value, __ATOMIC_RELAXED);
    return before;
}
static void __threadfence() {}
static int __clz(unsigned bits) { return bits ? __builtin_clz(bits) : 32; }
// Whoever pauses waits for another thread, which goes on meanwhile.
static void __nanosleep(unsigned) { next_turn(); }
static void load_word(unsigned long long& word, const unsigned long long* from)
{
    word = __atomic_load_n(from, __ATOMIC_RELAXED);
}
static void load_words(unsigned long long& low, unsigned long long& high, const unsigned long long* from)
{
    if ((uint64_t)from % 16) abort();
    low = from[0], high = from[1];
}
static void store_word(unsigned long long* to, unsigned long long word)
{
    __atomic_store_n(to, word, __ATOMIC_RELAXED);
}
static void store_words(unsigned long long* to, unsigned long long low, unsigned long long high)
{
    if ((uint64_t)to % 16) abort();
    to[0] = low, to[1] = high;
}

#include "shared.h"
#include "cores.h"

// What a kernel is given: an array of whatever type it wants, or a tensor map.
struct any {
    void* array;
    template <class T> operator T*() const { return (T*)array; }
};
struct boxed {
    mapped map;
    template <class T> operator T() const
    {
        T given;
        memcpy(&given, &map, sizeof map);
        return given;
    }
};

// Set by the program that ends where something is computed on memory that nobody wrote.
static void watch_unwritten()
{
    watched = true;
    feenableexcept(FE_INVALID);
}

// NaN in each format, signalling in all but float16: whoever computes with it is noticed.
static const unsigned UNWRITTEN = 0x7fa07fa0;
extern char __start_shared[] __attribute__((weak)), __stop_shared[] __attribute__((weak));
UNSEEN static void unwrite(char* begin, char* end)
{
    for (; begin + sizeof UNWRITTEN <= end; begin += sizeof UNWRITTEN) *(volatile unsigned*)begin = UNWRITTEN;
}

// A kernel, which is a task, for one block after another.
static void all_blocks(const void* on)
{
    const task kernel = *(const task*)on;
    // Of its own, since the next launch waits for nobody who reads after the last barrier.
    const dim3 grid = gridDim;
    for (unsigned b = 0; b < grid.x * grid.y * grid.z; b++) {
        if (thread_of() == 0) {
            blockIdx = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
            unwrite(dynamic_shared, dynamic_shared + dynamic_bytes);
            unwrite(__start_shared, __stop_shared);
        }
        __syncthreads();
        kernel.run(kernel.on);
        __syncthreads();
    }
}

static void launch_task(dim3 grid, dim3 block, size_t shared_bytes, task kernel)
{
    gridDim = grid, blockDim = block;
    int threads = block.x * block.y * block.z;
    // Of just these bytes, as a sanitizer watches what lies behind them.
    void* memory;
    if (posix_memalign(&memory, 1024, shared_bytes)) abort();
    dynamic_shared = (char*)memory, dynamic_bytes = shared_bytes;
    block_barrier = {threads, threads};
    for (int w = 0; w < (threads + 31) / 32; w++) {
        int lanes = min(32, threads - 32 * w);
        warp_barriers[w] = {lanes, lanes};
    }
    for (auto& barrier : named_barriers) barrier = {128, 128};
    memset(shared_barriers, 0, sizeof shared_barriers);
    run_fibers(block, {all_blocks, &kernel});
    free(memory);
}

// A launch.  Of a program with several, each adds no more than its kernel's call.
template <class Kernel> static void launch(dim3 grid, dim3 block, size_t shared_bytes, const Kernel& kernel)
{
    launch_task(grid, block, shared_bytes, {[](const void* on) { (*(const Kernel*)on)(); }, &kernel});
}

// What a file holds.
struct contents {
    char* bytes;
    size_t size;
    contents(const char* path)
    {
        FILE* file = fopen(path, "rb");
        fseek(file, 0, SEEK_END);
        bytes = (char*)malloc(size = ftell(file));
        rewind(file);
        if (fread(bytes, 1, size, file) != size) abort();
        fclose(file);
    }
    ~contents() { free(bytes); }
    void keep(const char* path)
    {
        FILE* file = fopen(path, "wb");
        if (fwrite(bytes, 1, size, file) != size) abort();
        fclose(file);
    }
};
