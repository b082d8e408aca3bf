// Rows of a warp (`scan/gpu/tile.h`), cut where segments begin.  CUDA only.

#pragma once

#include "scan/gpu/tile.h"
#include "heads.h"

// The beginnings in this lane's vectors, a row's in WIDTH bits; and the lanes in whose vectors there
// are some, a bit each.
struct cuts { unsigned own[ROWS], lanes[ROWS]; };

__device__ __forceinline__ void load_cuts(struct cuts* cuts, const unsigned* heads, int low)
{
    UNROLL for (int row = 0; row < ROWS; row++) {
        cuts->own[row] = heads_of(heads, low + row * SPAN + threadIdx.x % 32 * WIDTH);
        cuts->lanes[row] = __ballot_sync(EVERY_LANE, cuts->own[row] != 0);
    }
}

// As scan_rows, cut at beginnings.
__device__ __forceinline__ carried scan_cut_rows(struct rows* rows, const struct cuts* cuts)
{
    int lane = threadIdx.x % 32;
    unsigned up_to = 0xffffffffu >> (31 - lane);
    carried sums[ROWS];
    UNROLL for (int row = 0; row < ROWS; row++) {
        UNROLL for (int e = 1; e < WIDTH; e++)
            if (!(cuts->own[row] >> e & 1))
                rows->own[row][e] = combined(rows->own[row][e - 1], rows->own[row][e]);
        sums[row] = rows->own[row][WIDTH - 1];
    }
    UNROLL for (int reach = 1; reach < 32; reach *= 2) {
        UNROLL for (int row = 0; row < ROWS; row++) {
            // The lane of the last beginning is the first that takes part.
            int first = 31 - __clz((cuts->lanes[row] & up_to) | 1);
            carried other = __shfl_up_sync(EVERY_LANE, sums[row], reach);
            if (lane - reach >= first) sums[row] = combined(other, sums[row]);
        }
    }
    carried all = IDENTITY;
    UNROLL for (int row = 0; row < ROWS; row++) {
        carried other = __shfl_up_sync(EVERY_LANE, sums[row], 1);
        carried whole = __shfl_sync(EVERY_LANE, sums[row], 31);
        bool open = (cuts->lanes[row] & up_to >> 1) == 0;
        rows->before[row] = lane == 0 ? all : open ? combined(all, other) : other;
        all = cuts->lanes[row] ? whole : combined(all, whole);
    }
    return all;
}

// As store_rows; only what no beginning cuts off has `before` before it.
__device__ __forceinline__ void store_cut_rows(const struct rows* rows, const struct cuts* cuts,
                                               carried before, result* y, int64 low, int64 count)
{
    unsigned earlier = 0, below = 0xffffffffu >> (31 - threadIdx.x % 32) >> 1;
    UNROLL for (int row = 0; row < ROWS; row++) {
        int64 at = vector_place(low, row);
        bool open = (earlier | cuts->lanes[row] & below) == 0;
        carried first = open ? combined(before, rows->before[row]) : rows->before[row];
        struct result_vector vector;
        UNROLL for (int e = 0; e < WIDTH; e++) {
            bool begins = cuts->own[row] >> e & 1;
            // True if a segment begins in the vector before the last element that takes part.
            int last = EXCLUSIVE ? e - 1 : e;
            bool cut = EXCLUSIVE && e == 0 ? false : (cuts->own[row] & (2u << last) - 1) != 0;
            carried own = EXCLUSIVE ? (e ? rows->own[row][e - 1] : IDENTITY) : rows->own[row][e];
            carried with = EXCLUSIVE && e == 0 ? first : cut ? own : combined(first, own);
            vector.of[e] = stored(EXCLUSIVE && begins ? IDENTITY : with);
        }
        earlier |= cuts->lanes[row];
        if (at + WIDTH <= count) {
            put_vector(y + at, vector);
        } else {
            UNROLL for (int e = 0; e < WIDTH; e++)
                if (at + e < count) y[at + e] = vector.of[e];
        }
    }
}
