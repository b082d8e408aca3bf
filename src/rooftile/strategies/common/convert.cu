// Brings an array from one type of number, and one order of its axes, to another: what callers have
// to what kernels take, and back.
//
// FROM and TO are the types (`common/source.h`).
// A block of the kernel `exchange` takes a tile of PIXELS pixels of CHANNELS channels: all
// channels, or 64 of more.  A thread takes runs of neighbours at once, of PLANE_RUN pixels and of
// LAST_RUN elements of pixels whose channels lie last: 4, where all runs begin at multiples of
// four elements, else 1.  Several of its runs are under way together.
#define THREADS 256

#include "common/pipelines/pdl.h"
#include "common/source.h"

#if TO == FLOAT32
typedef float target;
#else
typedef unsigned short target;
#endif

#if FROM == FLOAT32
typedef uint4 source_run;
#else
typedef uint2 source_run;
#endif
#if TO == FLOAT32
typedef uint4 target_run;
#else
typedef uint2 target_run;
#endif

__device__ __forceinline__ target bits_of(float value)
{
#if TO == FLOAT32
    return value;
#elif TO == BFLOAT16
    // To the nearest, ties to even; NaN stays NaN.
    unsigned bits = BITS_OF(value), odd = bits >> 16 & 1;
    return value == value ? (bits + 0x7fffu + odd) >> 16 : bits >> 16 | 0x40;
#else
    target bits;
#ifdef __OPENCL_VERSION__
    vstore_half_rte(value, 0, (__private half*)&bits);
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#endif
    return bits;
#endif
}

// Neighbours, `run` of them: 4 or 1.
__device__ __forceinline__ void load(float to[4], const GLOBAL source* x, int run)
{
    if (run == 1) {
        to[0] = value_of(*x);
        return;
    }
    source_run four = *(const GLOBAL source_run*)x;
#if FROM == FLOAT32
    unsigned of[4] = {four.x, four.y, four.z, four.w};
    UNROLL
    for (int k = 0; k < 4; k++) to[k] = FLOAT_OF(of[k]);
#else
    to[0] = value_of(four.x & 0xffff);
    to[1] = value_of(four.x >> 16);
    to[2] = value_of(four.y & 0xffff);
    to[3] = value_of(four.y >> 16);
#endif
}

__device__ __forceinline__ void store(GLOBAL target* y, const float from[4], int run)
{
    if (run == 1) {
        *y = bits_of(from[0]);
        return;
    }
    target_run four;
#if TO == FLOAT32
    four.x = BITS_OF(from[0]);
    four.y = BITS_OF(from[1]);
    four.z = BITS_OF(from[2]);
    four.w = BITS_OF(from[3]);
#else
    four.x = bits_of(from[0]) | (unsigned)bits_of(from[1]) << 16;
    four.y = bits_of(from[2]) | (unsigned)bits_of(from[3]) << 16;
#endif
    *(GLOBAL target_run*)y = four;
}

#define CONVERTED 4

// x[count], y[count].  Grid: x over blocks of CONVERTED runs of LAST_RUN elements a thread.
__global__ void convert(const GLOBAL source* x, GLOBAL target* __restrict__ y,
                        int64 count)
{
    int64 first = ((int64)blockIdx.x * (CONVERTED * THREADS) + threadIdx.x) * LAST_RUN;
    float found[CONVERTED][4];
    GRIDDEPCONTROL_LAUNCH();
    GRIDDEPCONTROL_WAIT();
    UNROLL
    for (int n = 0; n < CONVERTED; n++) {
        int64 i = first + n * (THREADS * LAST_RUN);
        if (i < count) load(found[n], x + i, LAST_RUN);
    }
    UNROLL
    for (int n = 0; n < CONVERTED; n++) {
        int64 i = first + n * (THREADS * LAST_RUN);
        if (i < count) store(y + i, found[n], LAST_RUN);
    }
}

// The kernels below are for arrays whose channels are their `last` axis, or planes before the
// pixels.
#define RUN(last) ((last) ? LAST_RUN : PLANE_RUN)
#define ROUNDS(last) ((PIXELS * CHANNELS + THREADS * RUN(last) - 1) / (THREADS * RUN(last)))

// Which pixel and channel is k after the first of a run, element `e` of a tile in such an order.  A
// run of pixels is of one channel.
#define PIXEL_OF(e, k, last) ((last) ? ((e) + (k)) / CHANNELS : (e) % PIXELS + (k))
#define CHANNEL_OF(e, k, last) ((last) ? ((e) + (k)) % CHANNELS : (e) / PIXELS)

// The index of a pixel's channel in such an array.
__device__ __forceinline__ int place_of(int pixel, int channel, int pixels, int channels, int last)
{
    return last ? pixel * channels + channel : channel * pixels + pixel;
}

// True if the tile has the element, and the array has the tile's.
__device__ __forceinline__ int there(int p, int c, int pixels, int channels)
{
    return p < PIXELS && c < CHANNELS && p < pixels && c < channels;
}

// x[items][pixels][channels], y[items][channels][pixels] if FROM_LAST, else the other way round.
// Grid: x over tiles of pixels of all items, y over tiles of channels.
__global__ void exchange(const GLOBAL source* x, GLOBAL target* __restrict__ y,
                         int pixels, int channels)
{
    __shared__ float tile[CHANNELS][PIXELS + 1];
    int tiles = (pixels + PIXELS - 1) / PIXELS;
    int64 item = (int64)(blockIdx.x / tiles) * pixels * channels;
    int pixel = blockIdx.x % tiles * PIXELS, channel = blockIdx.y * CHANNELS;
    int more = pixels - pixel, deeper = channels - channel;
    x += item + place_of(pixel, channel, pixels, channels, FROM_LAST);
    y += item + place_of(pixel, channel, pixels, channels, !FROM_LAST);
    GRIDDEPCONTROL_LAUNCH();
    GRIDDEPCONTROL_WAIT();
    UNROLL_BY(8)
    for (int n = 0; n < ROUNDS(FROM_LAST); n++) {
        int e = (n * THREADS + threadIdx.x) * RUN(FROM_LAST);
        int p = PIXEL_OF(e, 0, FROM_LAST), c = CHANNEL_OF(e, 0, FROM_LAST);
        if (!there(p, c, more, deeper)) continue;
        float found[4];
        load(found, x + place_of(p, c, pixels, channels, FROM_LAST), RUN(FROM_LAST));
        UNROLL
        for (int k = 0; k < RUN(FROM_LAST); k++)
            tile[CHANNEL_OF(e, k, FROM_LAST)][PIXEL_OF(e, k, FROM_LAST)] = found[k];
    }
    __syncthreads();
    UNROLL_BY(8)
    for (int n = 0; n < ROUNDS(!FROM_LAST); n++) {
        int e = (n * THREADS + threadIdx.x) * RUN(!FROM_LAST);
        int p = PIXEL_OF(e, 0, !FROM_LAST), c = CHANNEL_OF(e, 0, !FROM_LAST);
        if (!there(p, c, more, deeper)) continue;
        float found[4];
        UNROLL
        for (int k = 0; k < RUN(!FROM_LAST); k++)
            found[k] = tile[CHANNEL_OF(e, k, !FROM_LAST)][PIXEL_OF(e, k, !FROM_LAST)];
        store(y + place_of(p, c, pixels, channels, !FROM_LAST), found, RUN(!FROM_LAST));
    }
}
