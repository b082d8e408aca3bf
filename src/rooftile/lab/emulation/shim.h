// CUDA's words for a host: a fiber for each thread of a block, blocks one after another.
// Instructions of tensor cores are computed as such cores do, in step of their warps.
//
// Few headers are included, since every kernel's text is compiled with them, and functions are
// declared only, where they are no templates: shim.cc defines them.

// Without C++17's Bessel functions and their like, half of all that would be read for a text.
#include <cstddef>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
inline dim3 threadIdx, blockIdx, blockDim, gridDim;

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
unsigned __byte_perm(unsigned low, unsigned high, unsigned digits);
// As PTX has it: a digit's highest bit asks for the byte's sign, eight times.
void prmt(unsigned& made, unsigned low, unsigned high, unsigned digits);
static double cospi(double x) { return cos(M_PI * x); }
static double sinpi(double x) { return sin(M_PI * x); }
template <class T> static T __ldcs(const T* from) { return *from; }
template <class T> static T __ldg(const T* from) { return *from; }

static const int MOST_THREADS = 1024;
#include "fibers.h"

// Threads in step.

static unsigned thread_of() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
void __syncthreads();
void __syncwarp(unsigned = ~0u);
// `count` threads meet, always the same number at a barrier.
void bar_sync(int id, int threads = 128);

// A lane's value, of any type.
uint64_t bits_of_lane(uint64_t given, unsigned lane);
template <class T> static T of_lane(T given, unsigned lane)
{
    uint64_t bits = 0;
    static_assert(sizeof given <= sizeof bits);
    memcpy(&bits, &given, sizeof given);
    bits = bits_of_lane(bits, lane);
    memcpy(&given, &bits, sizeof given);
    return given;
}
template <class T> static T __shfl_xor_sync(unsigned, T given, int mask)
{
    return of_lane(given, thread_of() % 32 ^ mask);
}
template <class T> static T __shfl_sync(unsigned, T given, int lane) { return of_lane(given, lane); }
template <class T> static T __shfl_up_sync(unsigned, T given, unsigned by)
{
    unsigned lane = thread_of() % 32;
    return of_lane(given, lane < by ? lane : lane - by);
}
template <class T> static T __shfl_down_sync(unsigned, T given, unsigned by)
{
    unsigned lane = thread_of() % 32;
    return of_lane(given, lane + by > 31 ? lane : lane + by);
}
static unsigned either(unsigned a, unsigned b) { return a | b; }
// A warp's numbers combined, one after another.
unsigned reduced(unsigned given, unsigned (*pick)(unsigned, unsigned));
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

// True if any thread of the block passes true.
int __syncthreads_or(int given);

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
// A thread that pauses waits for another one, which goes on meanwhile.
static void __nanosleep(unsigned) { next_turn(); }
static void load_word(unsigned long long& word, const unsigned long long* from)
{
    word = __atomic_load_n(from, __ATOMIC_RELAXED);
}
void load_words(unsigned long long& low, unsigned long long& high, const unsigned long long* from);
static void store_word(unsigned long long* to, unsigned long long word)
{
    __atomic_store_n(to, word, __ATOMIC_RELAXED);
}
void store_words(unsigned long long* to, unsigned long long low, unsigned long long high);

#include "shared.h"
#include "cores.h"

// A kernel's argument: an array of any type, or a tensor map.
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
void watch_unwritten();

void launch_task(dim3 grid, dim3 block, size_t shared_bytes, task kernel);

// A launch.  Of a program with several, each adds no more than its kernel's call.
template <class Kernel> static void launch(dim3 grid, dim3 block, size_t shared_bytes, const Kernel& kernel)
{
    launch_task(grid, block, shared_bytes, {[](const void* on) { (*(const Kernel*)on)(); }, &kernel});
}

// A file's content, as long as the program runs.
struct contents {
    char* bytes;
    size_t size;
    contents(const char* path);
    void keep(const char* path);
};
