// Common parts of histogram's texts: the bin of an element, and the growth of a bin.
//
// KIND: 0 elements are uint8, 1 int32, 2 float32, 3 of another dtype: GIVEN, with NARROW_GIVEN the
// bits of a number of 16 bits (of CORES). BOUND is the type of edges.
// RULE: 0 a bin is one integer, 1 bins are even, 2 edges are given, 3 a bin is one value of a byte, 4
// bins are even, and elements of KIND 3 are compared in double precision.
// WEIGHTED: a bin grows by its elements' weights, and is float32; else by 1, and has 64 bits.

#pragma once

#include "common/atomics.h"

#ifdef __OPENCL_VERSION__
typedef ulong uint64;
#if KIND == 3 || RULE == 2
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#else
typedef unsigned long long uint64;
#endif
typedef GIVEN given;
typedef BOUND bound;

#if NARROW_GIVEN
#include "common/narrow.h"
#define NUMBER_OF(x) widened(x)
#else
#define NUMBER_OF(x) (x)
#endif

#if WEIGHTED
typedef float number;
typedef float own;
#define WEIGHTS const GLOBAL float* __restrict__ weights,
#define WEIGHT(i) weights[i]
#define GROW(bins, bin, value) atomicAdd((bins) + (bin), value)
#define GROW_SHARED(bins, bin, value) add_shared((bins) + (bin), value)
#else
typedef int64 number;
typedef unsigned own;
#define WEIGHTS
#define WEIGHT(i) 1
#define GROW(bins, bin, value) ADD_LONG((bins) + (bin), value)
#define GROW_SHARED(bins, bin, value) ADD_SHARED_UINT((bins) + (bin), value)
#endif

#if RULE == 3

#define RULE_PARAMETERS int bins
#define BIN(x) ((int)(x))

#elif RULE == 0

// The first bin is `least`; the last one also holds the integer above it, its upper edge.
#define RULE_PARAMETERS int bins, int least
#define BIN(x) bin_of(x, bins, least)

__device__ __forceinline__ int bin_of(given x, int bins, int least)
{
    unsigned above = (unsigned)(int)x - (unsigned)least;
    if ((int)x < least || above > (unsigned)bins) return -1;
    return above == (unsigned)bins ? bins - 1 : (int)above;
}

#elif RULE == 1

// A unit has `scale` bins. The estimate is wrong by less than `slack` bins, so that only elements
// that close to an edge are compared with edges, which are rounded as in the definition: in double
// precision, for float32 then to float32.
#define RULE_PARAMETERS                                                                   \
    int bins, bound least, bound most, float start, float scale, float slack, double low, \
        double width, double high
#define RULE_ARGUMENTS bins, least, most, start, scale, slack, low, width, high
#define BIN(x) bin_of(x, RULE_ARGUMENTS)

#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#define EDGE(i) ((i) == bins ? high : (double)(i) * width + low)
#else
#define EDGE(i) ((i) == bins ? high : __dadd_rn(__dmul_rn((double)(i), width), low))
#endif
#if KIND == 2
#define REACHES(x, i) ((x) >= (float)EDGE(i))
#define DISTANCE(x) ((x) - least)
#else
#define REACHES(x, i) ((double)(x) >= EDGE(i))
#define DISTANCE(x) ((float)((unsigned)(x) - (unsigned)least))
#endif

// The integers below 2^23 are the last bits of floats from 2^23 on, so that an addition which rounds
// down finds the bin; conversions take four times as long.
#ifdef __OPENCL_VERSION__
#define SHIFTED(estimate) floor(estimate)
#define WHOLE(shifted) (shifted)
#define TO_INT(shifted) ((int)(shifted))
#else
#define SHIFTED(estimate) __fadd_rd(estimate, 8388608.0f)
#define WHOLE(shifted) ((shifted) - 8388608.0f)
#define TO_INT(shifted) (__float_as_int(shifted) - 0x4b000000)
#endif

// The bin by the estimate alone; `close` becomes true where an edge may decide otherwise, and for
// elements in no bin.
__device__ __forceinline__ int likely_bin(given x, bool* close, RULE_PARAMETERS)
{
    float estimate = DISTANCE(x) * scale + start, shifted = SHIFTED(estimate);
    float off = fabsf(estimate - WHOLE(shifted) - 0.5f);
    int bin = TO_INT(shifted);
    // The negation is true of NaN, too.
    if ((unsigned)bin >= (unsigned)bins || !(off <= 0.5f - slack)) *close = true;
    return bin;
}

__device__ __forceinline__ int bin_of(given x, RULE_PARAMETERS)
{
    bool close = false;
    if (!(x >= least && x <= most)) return -1;
    int bin = likely_bin(x, &close, RULE_ARGUMENTS);
    if (close) {
        if (bin >= bins) bin = bins - 1;
        if (bin < 0) bin = 0;
        while (bin > 0 && !REACHES(x, bin)) bin--;
        while (bin < bins - 1 && REACHES(x, bin + 1)) bin++;
    }
    return bin;
}

#define LIKELY_BIN(x, close) likely_bin(x, close, RULE_ARGUMENTS)

#elif RULE == 4

// A unit has `scale` bins. The estimate begins the search; the edges on both sides decide, rounded
// as in the definition: in double precision, then to the type of numbers of 16 bits.
#define RULE_PARAMETERS int bins, double low, double width, double high, double scale
#define BIN(x) bin_of(NUMBER_OF(x), bins, low, width, high, scale)

#ifdef __OPENCL_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#define PLACE(i) ((double)(i) * width + low)
#define DOWN(x) convert_float_rtz(x)
#else
#define PLACE(i) __dadd_rn(__dmul_rn((double)(i), width), low)
#define DOWN(x) __double2float_rz(x)
#endif

// A number rounded to odd keeps what a second rounding, to fewer bits, must know.
__device__ __forceinline__ double edge_of(int i, int bins, double low, double width, double high)
{
    double exact = i == bins ? high : PLACE(i);
#if NARROW_GIVEN
    float cut = DOWN(exact);
    if ((double)cut != exact) cut = __uint_as_float(__float_as_uint(cut) | 1);
    return widened(NARROW(cut));
#else
    return exact;
#endif
}

#define EDGE(i) edge_of(i, bins, low, width, high)

__device__ __forceinline__ int bin_of(double x, RULE_PARAMETERS)
{
    if (!(x >= low && x <= high)) return -1;
    int bin = (int)((x - low) * scale);
    if (bin >= bins) bin = bins - 1;
    if (bin < 0) bin = 0; // the estimate of bins too narrow for it is no number
    while (bin > 0 && x < EDGE(bin)) bin--;
    while (bin < bins - 1 && x >= EDGE(bin + 1)) bin++;
    return bin;
}

#else

#define RULE_PARAMETERS int bins, const GLOBAL bound* __restrict__ edges
#define BIN(x) bin_of(NUMBER_OF(x), bins, edges)

#if NARROW_GIVEN
#define COMPARED float
#else
#define COMPARED given
#endif

// The last edge that x reaches, by halving.
__device__ __forceinline__ int bin_of(COMPARED x, RULE_PARAMETERS)
{
    if (!(x >= edges[0] && x <= edges[bins])) return -1;
    int first = 0, last = bins - 1;
    while (first < last) {
        int middle = (first + last + 1) / 2;
        if (x >= edges[middle]) first = middle;
        else last = middle - 1;
    }
    return first;
}

#endif

// Without an estimate, the likely bin is the bin.
#ifndef LIKELY_BIN
#define LIKELY_BIN(x, close) BIN(x)
#endif

// Before bins grow they are zero.  Grid: x over CLEAR_THREADS bins.
__global__ void KERNEL(clear)(GLOBAL number* counts, int bins)
{
    int bin = blockIdx.x * CLEAR_THREADS + threadIdx.x;
    if (bin < bins) counts[bin] = 0;
}
