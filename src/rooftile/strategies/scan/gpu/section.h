// A section of BLOCK RUN elements, scanned by BLOCK threads in three phases: each thread scans a
// run of RUN neighbours, all threads scan the ends of the runs, and each adds its run's prefix.
//
// Threads load and store adjacent elements, whichever thread scans them (shared memory turns the
// corner). In shared memory every run is one element longer than it has to be, so that threads that
// walk along their runs meet in different banks.

#pragma once
#include "scan.h"

#define SECTION (BLOCK * RUN)
#define SLOT(e) ((e) + (e) / RUN)
#define SLOTS (BLOCK * (RUN + 1))

// Brings the elements of a line from `first` on, as far as there are any before `last`.
__device__ __forceinline__ void bring(SHARED carried* held, const GLOBAL given* x, int64 line,
                                      int64 first, int64 last, int64 count, int64 inner)
{
    for (int e = threadIdx.x; e < SECTION; e += BLOCK)
        held[SLOT(e)] =
            first + e < last ? taken(x[place(line, first + e, count, inner)]) : IDENTITY;
}

// Scans what all threads have brought to `held[SLOTS]`; `ends` has a place for each thread.
// Returns what the whole section comes to.  Everybody may read `held` then.
__device__ __forceinline__ carried scan_section(SHARED carried* held, SHARED carried* ends)
{
    int thread = threadIdx.x;
    SHARED carried* run = held + SLOT(thread * RUN);
    __syncthreads();
    carried sum = run[0];
    for (int e = 1; e < RUN; e++) run[e] = sum = combined(sum, run[e]);
    ends[thread] = sum;
    for (int reach = 1; reach < BLOCK; reach *= 2) {
        __syncthreads();
        carried other = thread >= reach ? ends[thread - reach] : IDENTITY;
        __syncthreads();
        if (thread >= reach) ends[thread] = combined(other, ends[thread]);
    }
    __syncthreads();
    if (thread)
        for (int e = 0; e < RUN; e++) run[e] = combined(ends[thread - 1], run[e]);
    __syncthreads();
    return ends[BLOCK - 1];
}

// Stores the results of a section that has been scanned, with what is before it.
__device__ __forceinline__ void take_away(const SHARED carried* held, carried before,
                                          GLOBAL result* y, int64 line, int64 first, int64 last,
                                          int64 count, int64 inner)
{
    for (int e = threadIdx.x; e < SECTION && first + e < last; e += BLOCK) {
        carried own = EXCLUSIVE ? (e ? held[SLOT(e - 1)] : IDENTITY) : held[SLOT(e)];
        y[place(line, first + e, count, inner)] = stored(combined(before, own));
    }
}

// Scans values of a line's sections in place: one section of them.  Returns what they come to.
__device__ __forceinline__ carried scan_values(GLOBAL carried* values, carried before, int64 first,
                                               int64 count, SHARED carried* held,
                                               SHARED carried* ends)
{
    for (int e = threadIdx.x; e < SECTION; e += BLOCK)
        held[SLOT(e)] = first + e < count ? values[first + e] : IDENTITY;
    carried all = scan_section(held, ends);
    for (int e = threadIdx.x; e < SECTION && first + e < count; e += BLOCK)
        values[first + e] = combined(before, held[SLOT(e)]);
    return all;
}
