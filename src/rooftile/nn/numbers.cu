// Conversion of a plan's images and scores, where its layers read and write float: pixels and
// 16-bit numbers become float, and float 16-bit numbers.
//
// BFLOAT16: the 16 bits are bfloat16, else float16. Sums and products are no part of this, so each
// kernel takes the time of its bytes. Grid: x over blocks of THREADS threads, each with four
// numbers that one access takes together; the last thread's are one by one.

typedef unsigned short narrow;
typedef unsigned char byte;

#define FIRST (4 * ((int64)blockIdx.x * THREADS + threadIdx.x))

#if BFLOAT16
__device__ __forceinline__ float widened(narrow bits)
{
#ifdef __OPENCL_VERSION__
    return as_float((unsigned)bits << 16);
#else
    return __uint_as_float((unsigned)bits << 16);
#endif
}

// To the nearest, halves to even; NaN stays one.
__device__ __forceinline__ narrow narrowed(float value)
{
#ifdef __OPENCL_VERSION__
    unsigned bits = as_uint(value);
#else
    unsigned bits = __float_as_uint(value);
#endif
    if (value != value) return (narrow)(bits >> 16 | 64);
    return (narrow)(bits + 0x7fff + (bits >> 16 & 1) >> 16);
}
#elif defined(__OPENCL_VERSION__)
static inline float widened(narrow bits) { return vload_half(0, (const half*)&bits); }

static inline narrow narrowed(float value)
{
    narrow bits;
    vstore_half_rte(value, 0, (half*)&bits);
    return bits;
}
#else
__device__ __forceinline__ float widened(narrow bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

__device__ __forceinline__ narrow narrowed(float value)
{
    narrow bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
#endif

// The table of a pixel's channel. Four pixels are in one channel where PLANE, the pixels of a
// channel, is a multiple of four; then all ask for the first one's.
#define CHANNEL(i) ((int)((i) / PLANE % TABLES) * 256)
#define TABLE(i, first) (TABLES == 1 ? 0 : PLANE % 4 ? CHANNEL(i) : CHANNEL(first))

// pixels uint8[count]; values[TABLES][256] -> x[count], the number of each pixel by the table of
// its channel, or by the only one. A table instead of a product: so its bits equal the host's
// preparation.
__global__ void standardise(const GLOBAL byte* __restrict__ pixels,
                            const GLOBAL float* __restrict__ values, GLOBAL float* __restrict__ x,
                            int64 count)
{
    __shared__ float table[TABLES * 256];
    for (int i = threadIdx.x; i < TABLES * 256; i += THREADS)
        table[i] = values[i];
    __syncthreads();
    int64 first = FIRST;
    if (first + 4 <= count) {
        unsigned four = *(const GLOBAL unsigned*)(pixels + first);
        *(GLOBAL float4*)(x + first) = make_float4(table[TABLE(first, first) + (four & 255)],
                                                   table[TABLE(first + 1, first) + (four >> 8 & 255)],
                                                   table[TABLE(first + 2, first) + (four >> 16 & 255)],
                                                   table[TABLE(first + 3, first) + (four >> 24)]);
        return;
    }
    for (int64 i = first; i < count; i++) x[i] = table[TABLE(i, i) + pixels[i]];
}

// given 16-bit[count] -> x[count].
__global__ void widen(const GLOBAL narrow* __restrict__ given, GLOBAL float* __restrict__ x,
                      int64 count)
{
    int64 first = FIRST;
    if (first + 4 <= count) {
        uint2 four = *(const GLOBAL uint2*)(given + first);
        *(GLOBAL float4*)(x + first) =
            make_float4(widened((narrow)(four.x & 0xffff)), widened((narrow)(four.x >> 16)),
                        widened((narrow)(four.y & 0xffff)), widened((narrow)(four.y >> 16)));
        return;
    }
    for (int64 i = first; i < count; i++) x[i] = widened(given[i]);
}

// y[count] -> out 16-bit[count], rounded to the nearest, halves to even.
__global__ void narrow_scores(const GLOBAL float* __restrict__ y, GLOBAL narrow* __restrict__ out,
                              int64 count)
{
    int64 first = FIRST, last = first + 4 < count ? first + 4 : count;
    for (int64 i = first; i < last; i++) out[i] = narrowed(y[i]);
}

// given uint8[count] -> to[count]: bytes that must lie on another boundary.
__global__ void move(const GLOBAL byte* __restrict__ given, GLOBAL byte* __restrict__ to,
                     int64 count)
{
    int64 first = FIRST, last = first + 4 < count ? first + 4 : count;
    for (int64 i = first; i < last; i++) to[i] = given[i];
}
