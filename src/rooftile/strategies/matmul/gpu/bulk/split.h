// Splits both matrices in two numbers of float16 each, every row of a and every column of b scaled
// by a power of two of its own. In either order of a matrix, terms are adjacent in its numbers, in
// lines of PITCH(terms), with zeros after the last.

#pragma once

#include "common/scaled_numbers.h"

// Places, rows of a or columns of b, of a block; and lanes that have the same terms of four each.
#define PLACES (SPLIT_THREADS / 32)
#define LANES_ACROSS (PLACES / 4)
// Lines of numbers are whole 16 bytes, which the copy engine wants.
#define PITCH(terms) (((terms) + 7) / 8 * 8)
// Eights of a lane that stay in registers from the search for the largest to the split.
#define HELD 4

// Low numbers of those below 2^-13 miss up to 2^-36.
__device__ __forceinline__ float missing(float scaled)
{
    return scaled != 0.0f && fabsf(scaled) < 0x1p-13f ? 1.0f : 0.0f;
}

__device__ __forceinline__ void put_eight(narrow* to, const pair pairs[4])
{
    *(uint4*)to = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
}

// Splits eight terms.  Returns how many are small.
__device__ __forceinline__ float split_eight(const float x[8], float scale, narrow* high, narrow* low)
{
    pair first[4], next[4];
    float small = 0.0f;
    UNROLL for (int e = 0; e < 4; e++) {
        float u = x[2 * e] * scale, v = x[2 * e + 1] * scale;
        first[e] = pack(u, v);
        next[e] = pack(0x1p11f * (u - widened(first[e])), 0x1p11f * (v - widened(first[e] >> 16)));
        small += missing(u) + missing(v);
    }
    put_eight(high, first);
    put_eight(low, next);
    return small;
}

__device__ __forceinline__ float greatest(const float x[8], float most)
{
    UNROLL for (int e = 0; e < 8; e++) most = fmaxf(most, fabsf(x[e]));
    return most;
}

__device__ __forceinline__ struct row_scale span_of(float most, float small)
{
    struct row_scale row_scale = {most == 0.0f ? 0.0f : over(14, scale_to(most)), small};
    return row_scale;
}

// Four neighbours of a line, zeros beyond its end.
__device__ __forceinline__ void take_four(const float* line, int at, int end, float x[4])
{
    float4 four = at < end ? *(const float4*)(line + at) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
}

__device__ __forceinline__ void take_eight(const float* line, int k, int terms, float x[8])
{
    take_four(line, k, terms, x);
    take_four(line, k + 4, terms, x + 4);
}

// Lines are places: a warp has one.
__device__ __forceinline__ void split_lines(const float* __restrict__ from,
                                            narrow* __restrict__ high, narrow* __restrict__ low,
                                            struct row_scale* row_scales, int places, int terms, int first)
{
    int place = first + threadIdx.x / 32, start = threadIdx.x % 32 * 8;
    if (place >= places) return;
    from += (int64)place * terms;
    high += (int64)place * PITCH(terms), low += (int64)place * PITCH(terms);
    float most = 0.0f, small = 0.0f, held[HELD][8];
    UNROLL for (int h = 0; h < HELD; h++) take_eight(from, start + 256 * h, terms, held[h]);
    UNROLL for (int h = 0; h < HELD; h++) most = greatest(held[h], most);
    UNROLL_BY(4) for (int k = start + 256 * HELD; k < terms; k += 256) {
        float x[8];
        take_eight(from, k, terms, x);
        most = greatest(x, most);
    }
    UNROLL for (int apart = 1; apart < 32; apart *= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, apart));
    float scale = scale_to(most);
    UNROLL for (int h = 0; h < HELD; h++) {
        int k = start + 256 * h;
        if (k < terms) small += split_eight(held[h], scale, high + k, low + k);
    }
    UNROLL_BY(4) for (int k = start + 256 * HELD; k < terms; k += 256) {
        float x[8];
        take_eight(from, k, terms, x);
        small += split_eight(x, scale, high + k, low + k);
    }
    UNROLL for (int apart = 1; apart < 32; apart *= 2) small += __shfl_xor_sync(~0u, small, apart);
    if (start == 0) row_scales[place] = span_of(most, small);
}

// The joined values of a block's threads with the same four places.
__device__ __forceinline__ void join_columns(float four[4], bool most)
{
    __shared__ float joined[SPLIT_THREADS / 32][PLACES];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, across = lane % LANES_ACROSS;
    UNROLL for (int apart = LANES_ACROSS; apart < 32; apart *= 2)
        UNROLL for (int c = 0; c < 4; c++) {
            float other = __shfl_xor_sync(~0u, four[c], apart);
            four[c] = most ? fmaxf(four[c], other) : four[c] + other;
        }
    __syncthreads();
    if (lane < LANES_ACROSS)
        UNROLL for (int c = 0; c < 4; c++) joined[warp][4 * lane + c] = four[c];
    __syncthreads();
    UNROLL for (int c = 0; c < 4; c++) {
        four[c] = joined[0][4 * across + c];
        UNROLL for (int w = 1; w < SPLIT_THREADS / 32; w++) {
            float other = joined[w][4 * across + c];
            four[c] = most ? fmaxf(four[c], other) : four[c] + other;
        }
    }
}

// Eight terms of four neighbouring places, which lie in eight lines.
struct square { float x[4][8]; };

__device__ __forceinline__ struct square take_square(const float* from, int k, int end, int places,
                                                     int place)
{
    struct square held;
    UNROLL for (int t = 0; t < 8; t++) {
        float four[4];
        take_four(from + (int64)(k + t) * places, place, k + t < end ? places : 0, four);
        UNROLL for (int c = 0; c < 4; c++) held.x[c][t] = four[c];
    }
    return held;
}

// Lines are terms: a block has PLACES places of each.
__device__ __forceinline__ void split_columns(const float* __restrict__ from,
                                              narrow* __restrict__ high, narrow* __restrict__ low,
                                              struct row_scale* row_scales, int places, int terms, int first)
{
    const int apart = SPLIT_THREADS / LANES_ACROSS * 8;
    int place = first + threadIdx.x % LANES_ACROSS * 4, start = threadIdx.x / LANES_ACROSS * 8;
    int end = place < places ? terms : 0;
    float most[4] = {0.0f, 0.0f, 0.0f, 0.0f}, small[4] = {0.0f, 0.0f, 0.0f, 0.0f}, scale[4];
    struct square held = take_square(from, start, end, places, place);
    UNROLL for (int c = 0; c < 4; c++) most[c] = greatest(held.x[c], most[c]);
    ROLLED for (int k = start + apart; k < end; k += apart) {
        struct square next = take_square(from, k, end, places, place);
        UNROLL for (int c = 0; c < 4; c++) most[c] = greatest(next.x[c], most[c]);
    }
    join_columns(most, true);
    UNROLL for (int c = 0; c < 4; c++) scale[c] = scale_to(most[c]);
    ROLLED for (int k = start; k < end; k += apart) {
        if (k > start) held = take_square(from, k, end, places, place);
        UNROLL for (int c = 0; c < 4; c++) {
            int64 at = (int64)(place + c) * PITCH(terms) + k;
            small[c] += split_eight(held.x[c], scale[c], high + at, low + at);
        }
    }
    join_columns(small, false);
    if (start > 0 || end == 0) return;
    UNROLL for (int c = 0; c < 4; c++) row_scales[place + c] = span_of(most[c], small[c]);
}

// Grid: x over runs of PLACES rows of a, then of columns of b.
__global__ __launch_bounds__(SPLIT_THREADS) void KERNEL(split_both)(
    const float* a, const float* b, narrow* __restrict__ high_a, narrow* __restrict__ low_a,
    narrow* __restrict__ high_b, narrow* __restrict__ low_b, struct row_scale* __restrict__ row_scales_a,
    struct row_scale* __restrict__ row_scales_b, int rows, int inner, int columns)
{
    GRIDDEPCONTROL_WAIT();
    GRIDDEPCONTROL_LAUNCH();
    int run = blockIdx.x, of_a = (rows + PLACES - 1) / PLACES;
    bool in_a = run < of_a;
    int first = (in_a ? run : run - of_a) * PLACES;
    if (in_a && TRANSPOSE_A)
        split_columns(a, high_a, low_a, row_scales_a, rows, inner, first);
    else if (in_a)
        split_lines(a, high_a, low_a, row_scales_a, rows, inner, first);
    else if (TRANSPOSE_B)
        split_lines(b, high_b, low_b, row_scales_b, columns, inner, first);
    else
        split_columns(b, high_b, low_b, row_scales_b, columns, inner, first);
}
