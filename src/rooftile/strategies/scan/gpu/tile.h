// A warp's tile in registers: ROWS rows of 32 vectors, one a lane, of WIDTH elements. CUDA only.
//
// Lanes load and store adjacent vectors, so nothing passes through shared memory. With REVERSE
// everything is taken from its end: rows, lanes, and elements of a vector. Where the lines of x
// begin at no multiple of a vector, ALIGNED is 0 and elements are moved one by one. With STREAMED,
// whole vectors leave the caches before others: they are not needed again soon.

#pragma once
#include "scan/gpu/scan.h"

#define SPAN (32 * WIDTH)
#ifndef EVERY_LANE
#define EVERY_LANE 0xffffffffu
#endif

struct __align__(WIDTH * sizeof(given)) given_vector { given of[WIDTH]; };
struct __align__(WIDTH * sizeof(result)) result_vector { result of[WIDTH]; };


// Before sm_80 that takes registers that are not there.
#define STREAMS_VECTORS (STREAMED && __CUDA_ARCH__ >= 800)

__device__ __forceinline__ struct given_vector vector_at(const given* from)
{
#if STREAMS_VECTORS
    union { struct given_vector vector; uint4 four; uint2 two; } all;
    if (sizeof(all.vector) == 16) all.four = __ldcs((const uint4*)from);
    else if (sizeof(all.vector) == 8) all.two = __ldcs((const uint2*)from);
    else all.vector = *(const struct given_vector*)from;
    return all.vector;
#else
    return *(const struct given_vector*)from;
#endif
}

__device__ __forceinline__ void put_vector(result* to, struct result_vector vector)
{
#if STREAMS_VECTORS
    union { struct result_vector vector; uint4 four; uint2 two; } all;
    all.vector = vector;
    if (sizeof(vector) == 16) __stcs((uint4*)to, all.four);
    else if (sizeof(vector) == 8) __stcs((uint2*)to, all.two);
    else *(struct result_vector*)to = vector;
#else
    *(struct result_vector*)to = vector;
#endif
}

// `own` are the elements, each with those before it in its vector, and `before` what is before the
// vector.
struct rows { carried own[ROWS][WIDTH], before[ROWS]; };

// The index of this lane's vector of a row, in a line whose warp begins at `low` in memory.
__device__ __forceinline__ int64 vector_place(int64 low, int row)
{
    int lane = threadIdx.x % 32;
    return low + (REVERSE ? ROWS - 1 - row : row) * SPAN + (REVERSE ? 31 - lane : lane) * WIDTH;
}

// The elements of a vector, in the order in which they are scanned.
__device__ __forceinline__ void take_up(carried* own, const struct given_vector* vector)
{
    UNROLL for (int e = 0; e < WIDTH; e++) own[e] = taken(vector->of[REVERSE ? WIDTH - 1 - e : e]);
}

// Elements behind the last of the line are identities.
__device__ __forceinline__ void load_rows(struct rows* rows, const given* line, int64 low,
                                          int64 count)
{
    if (ALIGNED && low + ROWS * SPAN <= count) {
        // All loads are under way before the first of them is waited for.
        struct given_vector vectors[ROWS];
        UNROLL for (int row = 0; row < ROWS; row++)
            vectors[row] = vector_at(line + vector_place(low, row));
        UNROLL for (int row = 0; row < ROWS; row++) take_up(rows->own[row], &vectors[row]);
        return;
    }
    UNROLL for (int row = 0; row < ROWS; row++) {
        int64 at = vector_place(low, row);
        if (ALIGNED && at + WIDTH <= count) {
            struct given_vector vector = *(const struct given_vector*)(line + at);
            take_up(rows->own[row], &vector);
        } else {
            UNROLL for (int e = 0; e < WIDTH; e++) {
                int64 one = at + (REVERSE ? WIDTH - 1 - e : e);
                rows->own[row][e] = one < count ? taken(line[one]) : IDENTITY;
            }
        }
    }
}

// Returns what all elements of the warp come to.
__device__ __forceinline__ carried scan_rows(struct rows* rows)
{
    int lane = threadIdx.x % 32;
    carried sums[ROWS];
    UNROLL for (int row = 0; row < ROWS; row++) {
        UNROLL for (int e = 1; e < WIDTH; e++)
            rows->own[row][e] = combined(rows->own[row][e - 1], rows->own[row][e]);
        sums[row] = rows->own[row][WIDTH - 1];
    }
    UNROLL for (int reach = 1; reach < 32; reach *= 2) {
        UNROLL for (int row = 0; row < ROWS; row++) {
            carried other = __shfl_up_sync(EVERY_LANE, sums[row], reach);
            if (lane >= reach) sums[row] = combined(other, sums[row]);
        }
    }
    carried all = IDENTITY;
    UNROLL for (int row = 0; row < ROWS; row++) {
        carried other = __shfl_up_sync(EVERY_LANE, sums[row], 1);
        rows->before[row] = lane ? combined(all, other) : all;
        all = combined(all, __shfl_sync(EVERY_LANE, sums[row], 31));
    }
    return all;
}

// Stores results, each with what is before the warp.
__device__ __forceinline__ void store_rows(const struct rows* rows, carried before, result* line,
                                           int64 low, int64 count)
{
    UNROLL for (int row = 0; row < ROWS; row++) {
        int64 at = vector_place(low, row);
        carried first = combined(before, rows->before[row]);
        struct result_vector vector;
        UNROLL for (int e = 0; e < WIDTH; e++) {
            carried with = EXCLUSIVE ? (e ? combined(first, rows->own[row][e - 1]) : first)
                                     : combined(first, rows->own[row][e]);
            vector.of[REVERSE ? WIDTH - 1 - e : e] = stored(with);
        }
        if (ALIGNED && at + WIDTH <= count) {
            put_vector(line + at, vector);
        } else {
            UNROLL for (int e = 0; e < WIDTH; e++)
                if (at + e < count) line[at + e] = vector.of[e];
        }
    }
}
