// Splits both matrices in two numbers of float16 each, every row of a and every column of b scaled
// by a power of two of its own.

#pragma once

#include "common/scaled_numbers.h"

// Places, rows of a or columns of b, of a block.
#define PLACES (SPLIT_THREADS / 32)
#define LANES_ACROSS (PLACES / 4)
// Fours of a thread that stay in registers from the search for the largest to the split.
#define HELD 8

__device__ __forceinline__ float4 greatest(float4 x, float4 y)
{
    return make_float4(fmaxf(x.x, fabsf(y.x)), fmaxf(x.y, fabsf(y.y)), fmaxf(x.z, fabsf(y.z)),
                       fmaxf(x.w, fabsf(y.w)));
}
__device__ __forceinline__ float4 added(float4 x, float4 y)
{
    return make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}
__device__ __forceinline__ float4 from_lane(float4 x, int apart)
{
    return make_float4(__shfl_xor_sync(~0u, x.x, apart), __shfl_xor_sync(~0u, x.y, apart),
                       __shfl_xor_sync(~0u, x.z, apart), __shfl_xor_sync(~0u, x.w, apart));
}

// Low numbers of those below 2^-13 miss up to 2^-36.
__device__ __forceinline__ float missing(float scaled)
{
    return scaled != 0.0f && fabsf(scaled) < 0x1p-13f ? 1.0f : 0.0f;
}

// Splits four neighbours.  Returns which of them are small.
__device__ __forceinline__ float4 split_four(float4 x, float4 scale, narrow* high, narrow* low)
{
    x.x *= scale.x, x.y *= scale.y, x.z *= scale.z, x.w *= scale.w;
    pair first = pack(x.x, x.y), next = pack(x.z, x.w);
    *(uint2*)high = make_uint2(first, next);
    *(uint2*)low =
        make_uint2(pack(0x1p11f * (x.x - widened(first)), 0x1p11f * (x.y - widened(first >> 16))),
                   pack(0x1p11f * (x.z - widened(next)), 0x1p11f * (x.w - widened(next >> 16))));
    return make_float4(missing(x.x), missing(x.y), missing(x.z), missing(x.w));
}

__device__ __forceinline__ struct span span_of(float most, float small)
{
    struct span span = {most == 0.0f ? 0.0f : over(14, scale_to(most)), small};
    return span;
}

// Lines are places: a warp has one.
__device__ __forceinline__ void split_lines(const float* from, narrow* high, narrow* low,
                                            struct span* spans, int places, int terms, int first)
{
    int place = first + threadIdx.x / 32, start = threadIdx.x % 32 * 4;
    if (place >= places) return;
    int64 line = (int64)place * terms;
    from += line, high += line, low += line;
    float4 zeros = make_float4(0.0f, 0.0f, 0.0f, 0.0f), four = zeros, held[HELD];
    UNROLL for (int h = 0; h < HELD; h++) {
        int k = start + 128 * h;
        held[h] = k < terms ? *(const float4*)(from + k) : zeros;
    }
    UNROLL for (int h = 0; h < HELD; h++) four = greatest(four, held[h]);
    UNROLL_BY(8) for (int k = start + 128 * HELD; k < terms; k += 128)
        four = greatest(four, *(const float4*)(from + k));
    float most = fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w));
    UNROLL for (int apart = 1; apart < 32; apart *= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, apart));
    float one = scale_to(most);
    float4 scale = make_float4(one, one, one, one);
    four = zeros;
    UNROLL for (int h = 0; h < HELD; h++) {
        int k = start + 128 * h;
        if (k < terms) four = added(four, split_four(held[h], scale, high + k, low + k));
    }
    UNROLL_BY(8) for (int k = start + 128 * HELD; k < terms; k += 128)
        four = added(four, split_four(*(const float4*)(from + k), scale, high + k, low + k));
    float small = four.x + four.y + (four.z + four.w);
    UNROLL for (int apart = 1; apart < 32; apart *= 2) small += __shfl_xor_sync(~0u, small, apart);
    if (start == 0) spans[place] = span_of(most, small);
}

// What all threads of a block that have the same four places give, joined.
__device__ __forceinline__ float4 of_column(float4 four, bool most)
{
    __shared__ float4 joined[SPLIT_THREADS / 32][LANES_ACROSS];
    UNROLL for (int apart = LANES_ACROSS; apart < 32; apart *= 2) {
        float4 other = from_lane(four, apart);
        four = most ? greatest(four, other) : added(four, other);
    }
    int lane = threadIdx.x % 32;
    __syncthreads();
    if (lane < LANES_ACROSS) joined[threadIdx.x / 32][lane] = four;
    __syncthreads();
    four = joined[0][lane % LANES_ACROSS];
    UNROLL for (int warp = 1; warp < SPLIT_THREADS / 32; warp++) {
        float4 other = joined[warp][lane % LANES_ACROSS];
        four = most ? greatest(four, other) : added(four, other);
    }
    return four;
}

// Lines are terms: a block has PLACES places of each.
__device__ __forceinline__ void split_columns(const float* from, narrow* high, narrow* low,
                                              struct span* spans, int places, int terms, int first)
{
    const int apart = SPLIT_THREADS / LANES_ACROSS;
    int place = first + threadIdx.x % LANES_ACROSS * 4, start = threadIdx.x / LANES_ACROSS;
    int end = place < places ? terms : 0;
    float4 zeros = make_float4(0.0f, 0.0f, 0.0f, 0.0f), most = zeros, small = zeros, held[HELD];
    UNROLL for (int h = 0; h < HELD; h++) {
        int k = start + apart * h;
        held[h] = k < end ? *(const float4*)(from + (int64)k * places + place) : zeros;
    }
    UNROLL for (int h = 0; h < HELD; h++) most = greatest(most, held[h]);
    UNROLL_BY(8) for (int k = start + apart * HELD; k < end; k += apart)
        most = greatest(most, *(const float4*)(from + (int64)k * places + place));
    most = of_column(most, true);
    float4 scale = make_float4(scale_to(most.x), scale_to(most.y), scale_to(most.z),
                               scale_to(most.w));
    UNROLL for (int h = 0; h < HELD; h++) {
        int64 at = (int64)(start + apart * h) * places + place;
        if (start + apart * h < end)
            small = added(small, split_four(held[h], scale, high + at, low + at));
    }
    UNROLL_BY(8) for (int k = start + apart * HELD; k < end; k += apart) {
        int64 at = (int64)k * places + place;
        small = added(small, split_four(*(const float4*)(from + at), scale, high + at, low + at));
    }
    small = of_column(small, false);
    if (start > 0 || end == 0) return;
    spans[place] = span_of(most.x, small.x), spans[place + 1] = span_of(most.y, small.y);
    spans[place + 2] = span_of(most.z, small.z), spans[place + 3] = span_of(most.w, small.w);
}

// Grid: x over runs of PLACES rows of a, then of columns of b.
__global__ __launch_bounds__(SPLIT_THREADS) void split_both(
    const float* __restrict__ a, const float* __restrict__ b, narrow* __restrict__ high_a,
    narrow* __restrict__ low_a, narrow* __restrict__ high_b, narrow* __restrict__ low_b,
    struct span* __restrict__ spans_a, struct span* __restrict__ spans_b, int rows, int inner,
    int columns)
{
    await_earlier();
    int run = blockIdx.x, of_a = (rows + PLACES - 1) / PLACES;
    bool in_a = run < of_a;
    int first = (in_a ? run : run - of_a) * PLACES;
    if (in_a && TRANSPOSE_A)
        split_columns(a, high_a, low_a, spans_a, rows, inner, first);
    else if (in_a)
        split_lines(a, high_a, low_a, spans_a, rows, inner, first);
    else if (TRANSPOSE_B)
        split_lines(b, high_b, low_b, spans_b, columns, inner, first);
    else
        split_columns(b, high_b, low_b, spans_b, columns, inner, first);
}
