// One kernel text, two compilers: CUDA's words for OpenCL C, and the few words that
// CUDA lacks.  A kernel marks pointers to device memory with GLOBAL, and names the
// memory that the languages pass differently in three places:
//
//   CONSTANT_ARRAY(float, taps, 49)                     at file scope
//   __global__ void k(const GLOBAL float* x, GLOBAL float* y
//                     CONSTANT_ARGUMENT(float, taps) SHARED_ARGUMENT(float, tile))
//   {
//       SHARED_ARRAY(float, tile);                      dynamic shared memory
//
// LAUNCH_BOUNDS(threads) limits a kernel's registers for this number of threads a block, and
// RESIDENT_BOUNDS(threads, blocks) for this number of such blocks a multiprocessor, where the
// language knows it. (With 1 block the compiler takes more registers than without a number.)
//
// In OpenCL, GROUP_SIZE (three numbers) limits the registers of all kernels of a text for such
// blocks.
//
// COPY_ASYNC(type, to, from) starts a copy from device to shared memory, of 4, 8 or 16 bytes;
// COPIES_DONE() waits for the copies that the thread has started. Where the hardware has no such
// copies, the first copies and the second does nothing. COPIES_SENT() ends a group of them, and
// COPIES_LEFT(groups) waits until at most the latest `groups` of the thread's groups are in flight.
//
// UNROLL before a loop unrolls all of its rounds, UNROLL_BY(rounds) this number, ROLLED none.
//
// A text whose headers have kernels defines FAMILY, the rung's name or its family's, before it
// includes them. A header then names a kernel FAMILY or, by its purpose, KERNEL(finish):
// `tree_finish` in the text of `tree`, so that a profiler shows which rung a kernel belongs to.
//
// In CUDA a constant array is a symbol of the module; in OpenCL it is an argument.

#ifdef __OPENCL_VERSION__

#ifdef GROUP_SIZE
#define __global__ __kernel __attribute__((reqd_work_group_size(GROUP_SIZE)))
#else
#define __global__ __kernel
#endif
// Drivers compile what no kernel calls too, unless it is static.
#define __device__ static
#define __shared__ __local
#define __restrict__ restrict
#define __forceinline__ inline
#define LAUNCH_BOUNDS(threads)
#define RESIDENT_BOUNDS(threads, blocks)
#define __syncthreads() barrier(CLK_LOCAL_MEM_FENCE)
#define GLOBAL __global
#define SHARED __local
#define CONSTANT __constant
#define CONSTANT_ARRAY(type, name, count)
#define CONSTANT_ARGUMENT(type, name) , __constant type* restrict name
#define SHARED_ARGUMENT(type, name) , __local type* restrict name
#define SHARED_ARRAY(type, name)
#define threadIdx ((uint3)(get_local_id(0), get_local_id(1), get_local_id(2)))
#define blockIdx ((uint3)(get_group_id(0), get_group_id(1), get_group_id(2)))
#define blockDim ((uint3)(get_local_size(0), get_local_size(1), get_local_size(2)))
#define gridDim ((uint3)(get_num_groups(0), get_num_groups(1), get_num_groups(2)))
#define COPY_ASYNC(type, to, from) (*(to) = *(from))
#define COPIES_DONE()
#define COPIES_SENT()
#define COPIES_LEFT(groups)
#define make_float2(x, y) ((float2)(x, y))
#define make_float4(x, y, z, w) ((float4)(x, y, z, w))
#define __float_as_uint as_uint
#define __uint_as_float as_float
#define __int_as_float as_float
#define fabsf fabs
#define expf exp
#define sqrtf sqrt
#define tanhf tanh
typedef long int64;

static inline float atomicAdd(volatile __global float* address, float value)
{
    volatile __global int* bits = (volatile __global int*)address;
    int seen = *bits, expected;
    do {
        expected = seen;
        seen = atomic_cmpxchg(bits, expected, as_int(as_float(expected) + value));
    } while (seen != expected);
    return as_float(seen);
}

#else

#define GLOBAL
#define SHARED
#define CONSTANT
#define CONSTANT_ARRAY(type, name, count) __constant__ type name[count];
#define CONSTANT_ARGUMENT(type, name)
#define SHARED_ARGUMENT(type, name)
#define SHARED_ARRAY(type, name) extern __shared__ __align__(16) type name[]
#define LAUNCH_BOUNDS(threads) __launch_bounds__(threads)
#define RESIDENT_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#define INFINITY __int_as_float(0x7f800000)
#if __CUDA_ARCH__ >= 800
#define COPY_ASYNC(type, to, from)                                                        \
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(                       \
                     (unsigned)__cvta_generic_to_shared(to)),                             \
                 "l"(__cvta_generic_to_global(from)), "n"(sizeof(type))                   \
                 : "memory")
#define COPIES_DONE() asm volatile("cp.async.wait_all;" ::: "memory")
#define COPIES_SENT() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPIES_LEFT(groups) asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory")
#else
#define COPY_ASYNC(type, to, from) (*(to) = *(from))
#define COPIES_DONE()
#define COPIES_SENT()
#define COPIES_LEFT(groups)
#endif
typedef long long int64;

#endif

#define JOINED_NAMES(family, what) family##_##what
#define NAMED(family, what) JOINED_NAMES(family, what)
#define KERNEL(what) NAMED(FAMILY, what)

#define PRAGMA(words) _Pragma(#words)
#define UNROLL PRAGMA(unroll)
#define UNROLL_BY(rounds) PRAGMA(unroll rounds)
#define ROLLED PRAGMA(unroll 1)

// IEEE 754-2019 maximum: NaN if either is.
__device__ __forceinline__ float maximum(float a, float b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a > b || a != a ? a : b;
#endif
}

// NaN stays NaN.
__device__ __forceinline__ float relu(float z) { return maximum(z, 0.0f); }

__device__ __forceinline__ float sigmoid(float z)
{
    // exp of a non-positive argument cannot overflow.
    float e = expf(z < 0.0f ? z : -z);
    return z < 0.0f ? e / (1.0f + e) : 1.0f / (1.0f + e);
}
