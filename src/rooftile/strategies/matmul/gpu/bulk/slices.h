// A block's tiles, and the copy engine's loads for it.

#pragma once

#define TILE_R (64 * WARPGROUPS)
#define SUMS (TILE_C / 2)
#define A_BYTES (TILE_R * 128)
#define PLANE_BYTES (A_BYTES + TILE_C * 128)
#define STAGE_BYTES (NUMBERS * PLANE_BYTES)
#define THREADS (128 * (WARPGROUPS + 1))
#define CLUSTER (ROW_BLOCKS * COLUMN_BLOCKS)
#define CLUSTER_BLOCKS (CLUSTER * PARTS)
#define FIRST_NUMBER (blockIdx.x / CLUSTER_BLOCKS)
#define CLUSTERS (gridDim.x / CLUSTER_BLOCKS)

#include "common/pipelines/clusters.h"
#include "common/pipelines/pdl.h"

// Elements of 128 bytes: terms of a slice, and places of a box whose lines are terms.
#define SLICE (128 / ELEMENT_BYTES)
#define BOX_BYTES (SLICE * 128)

// First row and column of a block's tile, and the slices that it sums up.
struct work { int row, column, slice, end; };

// The work of a cluster's number: groups of columns one after another, in each of them row by row.
__device__ __forceinline__ struct work work_of(int number, int down, int across, int slices)
{
    int group = number / (GROUP * down), first = group * GROUP;
    int width = min(GROUP, across - first), within = number - first * down;
    int rank = rank_in_cluster(), part = blockIdx.x % PARTS;
    struct work work;
    work.row = (within / width * ROW_BLOCKS + rank / COLUMN_BLOCKS) * TILE_R;
    work.column = ((first + within % width) * COLUMN_BLOCKS + rank % COLUMN_BLOCKS) * TILE_C;
    work.slice = part * slices / PARTS, work.end = (part + 1) * slices / PARTS;
    return work;
}

// Brings a box to the blocks that share it.
__device__ __forceinline__ void bring_box(int sharing, unsigned blocks, unsigned to,
                                          const tensor_map* map, int x, int y, unsigned full)
{
    if (sharing > 1)
        tma_load_2d_multicast(blocks, to, map, x, y, full);
    else
        tma_load_2d(to, map, x, y, full);
}

// Starts the copies of one matrix's slice by one of `sharing` blocks, to those whose bits are set:
// its share of the places or, where lines are terms, of the terms.
__device__ __forceinline__ void start_matrix(const tensor_map* map, unsigned to, int places, int first,
                                             int k, int lies_across, int sharing, int number,
                                             unsigned blocks, unsigned full)
{
    if (lies_across) {
        const int terms = SLICE / sharing;
        UNROLL for (int p = 0; p < places; p += SLICE)
            bring_box(sharing, blocks, to + p * 128 + number * terms * 128, map, first + p,
                      k + number * terms, full);
    } else {
        const int share = places / sharing;
        bring_box(sharing, blocks, to + number * share * 128, map, k, first + number * share, full);
    }
}

// Starts this block's copies of a slice: of the rows to the blocks of its row, and of the columns
// to the blocks of its column.
__device__ __forceinline__ void start_slice(const tensor_map* left, const tensor_map* right,
                                            unsigned stage, unsigned full, struct work work, int s)
{
    int below = rank_in_cluster() / COLUMN_BLOCKS, beside = rank_in_cluster() % COLUMN_BLOCKS;
    unsigned same_rows = (1 << COLUMN_BLOCKS) - 1 << below * COLUMN_BLOCKS, same_columns = 0;
    UNROLL for (int r = 0; r < ROW_BLOCKS; r++) same_columns |= 1 << (r * COLUMN_BLOCKS + beside);
    start_matrix(left, stage, TILE_R, work.row, s * SLICE, LEFT_ACROSS, COLUMN_BLOCKS, beside,
                 same_rows, full);
    start_matrix(right, stage + A_BYTES, TILE_C, work.column, s * SLICE, RIGHT_ACROSS,
                 ROW_BLOCKS, below, same_columns, full);
}

// Both matrices, or one of the NUMBERS that each of their elements has been split in.
struct matrices { const tensor_map *left, *right; };

// One thread brings every slice of the block's tiles into the next stage that is free.
__device__ __forceinline__ void fetch(const struct matrices numbers[NUMBERS], unsigned stages,
                                      unsigned barriers, int slices, int down, int across)
{
    struct pipeline_state pipe = {0, 0};
    for (int number = FIRST_NUMBER; number < down * across; number += CLUSTERS) {
        struct work work = work_of(number, down, across, slices);
        ROLLED for (int s = work.slice; s < work.end; s++, advance(&pipe, STAGES)) {
            unsigned full = producer_acquire_tx(barriers, pipe, STAGES, STAGE_BYTES);
            UNROLL for (int n = 0; n < NUMBERS; n++)
                start_slice(numbers[n].left, numbers[n].right,
                            stages + pipe.stage * STAGE_BYTES + n * PLANE_BYTES, full, work, s);
        }
    }
}
