// Common parts of conv1d's kernels.
//
// Macros: MASK taps, BEFORE of them before the element with its output's index, CHANNELS, MAPS;
// REPLICATE and INTERIOR are its boundary. Indices along a signal are 64-bit.

#ifndef CONV1D_H
#define CONV1D_H

#define BEHIND (MASK - 1 - BEFORE)
// Taps that are summed in a row, before their sum is added to the output's: in one long row of equal
// terms, every addition would round the same way.
#define PART_TAPS 16
#define PART_END(begin) ((begin) + PART_TAPS < MASK ? (begin) + PART_TAPS : MASK)

// The element i of a signal, or what its ghost cell holds.
__device__ __forceinline__ float element(const GLOBAL float* signal, int64 i, int64 length)
{
    int64 inside = i < 0 ? 0 : i < length ? i : length - 1;
#if REPLICATE
    return signal[inside];
#else
    return inside == i ? signal[inside] : 0.0f;
#endif
}

// A sum, or zero where its mask left the signal and only the interior is filtered.
__device__ __forceinline__ float kept(float sum, int64 i, int64 length)
{
#if INTERIOR
    return i >= BEFORE && i < length - BEHIND ? sum : 0.0f;
#else
    return sum;
#endif
}

#endif
