// Brings an array from one type of number, and one order of its axes, to another: what callers have
// to what kernels take, and back.
//
// FROM and TO are the types, one of these.
#define FLOAT32 0
#define FLOAT16 1
#define BFLOAT16 2
// A block of the kernels `planes` and `pixels` takes PIXELS pixels of CHANNELS channels.

#if FROM == FLOAT32
typedef float source;
#else
typedef unsigned short source;
#endif
#if TO == FLOAT32
typedef float target;
#else
typedef unsigned short target;
#endif

#ifdef __OPENCL_VERSION__
#define FLOAT_OF(bits) as_float(bits)
#define BITS_OF(value) as_uint(value)
#else
#define FLOAT_OF(bits) __uint_as_float(bits)
#define BITS_OF(value) __float_as_uint(value)
#endif

__device__ __forceinline__ float load(const GLOBAL source* x, int64 i)
{
#if FROM == FLOAT32
    return x[i];
#elif FROM == BFLOAT16
    return FLOAT_OF((unsigned)x[i] << 16);
#elif defined(__OPENCL_VERSION__)
    return vload_half(i, (const __global half*)x);
#else
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x[i]));
    return value;
#endif
}

__device__ __forceinline__ void store(GLOBAL target* y, int64 i, float value)
{
#if TO == FLOAT32
    y[i] = value;
#elif TO == BFLOAT16
    // To the nearest, ties to even; NaN stays NaN.
    unsigned bits = BITS_OF(value), odd = bits >> 16 & 1;
    y[i] = value == value ? (bits + 0x7fffu + odd) >> 16 : bits >> 16 | 0x40;
#elif defined(__OPENCL_VERSION__)
    vstore_half_rte(value, i, (__global half*)y);
#else
    target bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    y[i] = bits;
#endif
}

// x[count], y[count].  Grid: x over blocks of four elements a thread.
__global__ void convert(const GLOBAL source* __restrict__ x, GLOBAL target* __restrict__ y,
                        int64 count)
{
    int64 first = (int64)blockIdx.x * blockDim.x * 4 + threadIdx.x;
    UNROLL
    for (int n = 0; n < 4; n++) {
        int64 i = first + n * blockDim.x;
        if (i < count) store(y, i, load(x, i));
    }
}

// x[items][pixels][channels], y[items][channels][pixels].
// Grid: x over blocks of pixels of all items, y over blocks of channels.
__global__ void planes(const GLOBAL source* __restrict__ x, GLOBAL target* __restrict__ y,
                       int pixels, int channels)
{
    __shared__ float tile[CHANNELS][PIXELS + 1];
    int tiles = (pixels + PIXELS - 1) / PIXELS;
    int64 item = blockIdx.x / tiles;
    int pixel = blockIdx.x % tiles * PIXELS, channel = blockIdx.y * CHANNELS;
    for (int e = threadIdx.x; e < PIXELS * CHANNELS; e += blockDim.x) {
        int p = e / CHANNELS, c = e % CHANNELS;
        if (pixel + p < pixels && channel + c < channels)
            tile[c][p] = load(x, (item * pixels + pixel + p) * channels + channel + c);
    }
    __syncthreads();
    for (int e = threadIdx.x; e < PIXELS * CHANNELS; e += blockDim.x) {
        int c = e / PIXELS, p = e % PIXELS;
        if (pixel + p < pixels && channel + c < channels)
            store(y, (item * channels + channel + c) * pixels + pixel + p, tile[c][p]);
    }
}

// x[items][channels][pixels], y[items][pixels][channels].  Grid: as that of `planes`.
__global__ void pixels(const GLOBAL source* __restrict__ x, GLOBAL target* __restrict__ y,
                       int pixels, int channels)
{
    __shared__ float tile[CHANNELS][PIXELS + 1];
    int tiles = (pixels + PIXELS - 1) / PIXELS;
    int64 item = blockIdx.x / tiles;
    int pixel = blockIdx.x % tiles * PIXELS, channel = blockIdx.y * CHANNELS;
    for (int e = threadIdx.x; e < PIXELS * CHANNELS; e += blockDim.x) {
        int c = e / PIXELS, p = e % PIXELS;
        if (pixel + p < pixels && channel + c < channels)
            tile[c][p] = load(x, (item * channels + channel + c) * pixels + pixel + p);
    }
    __syncthreads();
    for (int e = threadIdx.x; e < PIXELS * CHANNELS; e += blockDim.x) {
        int p = e / CHANNELS, c = e % CHANNELS;
        if (pixel + p < pixels && channel + c < channels)
            store(y, (item * pixels + pixel + p) * channels + channel + c, tile[c][p]);
    }
}
