// The shares of blocks, and the copy engine's loads.

#pragma once

// The ring's stages have the size that these give them.
#include "gemm/gpu/warpgroups/weights.h"

#include "common/pipelines/clusters.h"
#include "common/pipelines/pdl.h"
#include "common/pipelines/wgmma.h"

#define THREADS (128 * (WARPGROUPS + 1))
#define PART_SLICES ((SLICES + PARTS - 1) / PARTS)
#define CLUSTERS_ACROSS (PADDED_OUTPUTS / (TILE_O * CLUSTER))
#define BOX_ROWS (ROWS / BOXES)

// A cluster's work at a time: for each block a tile of the same images, of all inputs or of a part.
struct work { int64 image; int output, part, slice, end; };

// The work of a number; `whole` tiles' rows of images come first.
__device__ __forceinline__ struct work work_of(int number, int whole)
{
    struct work work;
    int row = number / CLUSTERS_ACROSS;
    work.output = (number % CLUSTERS_ACROSS * CLUSTER + rank_in_cluster()) * TILE_O;
    work.part = -1, work.slice = 0, work.end = SLICES;
    if (PARTS > 1 && row >= whole) {
        work.part = (row - whole) % PARTS, row = whole + (row - whole) / PARTS;
        work.slice = work.part * PART_SLICES, work.end = min(SLICES, work.slice + PART_SLICES);
    }
    work.image = (int64)row * ROWS;
    return work;
}

// Starts this block's copies of a slice of x: its share, to all blocks.
__device__ __forceinline__ void start_rows(const tensor_map* x, unsigned stage, unsigned full,
                                           int slice, int image)
{
#if X_ACROSS
    UNROLL for (int row = 0; row < ROWS; row += SLICE)
        tma_load_2d(stage + row * 128, x, image + row, slice * SLICE, full);
#else
    UNROLL for (int b = 0; b < BOXES / CLUSTER; b++) {
        int row = (rank_in_cluster() * (BOXES / CLUSTER) + b) * BOX_ROWS;
#if CLUSTER > 1
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                     ".mbarrier::complete_tx::bytes.multicast::cluster"
                     " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(stage + row * 128),
                     "l"(x), "r"(slice * SLICE), "r"(image + row), "r"(full),
                     "h"((narrow)((1 << CLUSTER) - 1))
                     : "memory");
#else
        tma_load_2d(stage + row * 128, x, slice * SLICE, image + row, full);
#endif
    }
#endif
}

// And of a slice of its own weights.
__device__ __forceinline__ void start_weights(const char* weights, unsigned stage, unsigned full,
                                              int slice)
{
    tma_load_1d(stage + ROWS * 128, weights + (size_t)slice * NUMBERS * PLANE_BYTES,
               NUMBERS * PLANE_BYTES, full);
}

// One thread brings every slice of the block's tiles into the next stage that is free.
__device__ __forceinline__ void fetch(const tensor_map* x, const element* rounded, unsigned stages,
                                      unsigned barriers, int whole, int works)
{
    struct pipeline_state pipe = {0, 0};
    for (int number = blockIdx.x / CLUSTER; number < works; number += gridDim.x / CLUSTER) {
        struct work work = work_of(number, whole);
        const char* weights = (const char*)rounded +
                              (size_t)(work.output / TILE_O) * SLICES * NUMBERS * PLANE_BYTES;
        ROLLED for (int s = work.slice; s < work.end; s++, advance(&pipe, STAGES)) {
            unsigned full = producer_acquire_tx(barriers, pipe, STAGES, STAGE_BYTES);
            start_rows(x, stages + pipe.stage * STAGE_BYTES, full, s, work.image);
            start_weights(weights, stages + pipe.stage * STAGE_BYTES, full, s);
        }
    }
}

// 8x8 matrices of the weights' pieces: the next outputs 128 bytes on, the next inputs a half
// on.  An address in a cluster begins with the block's rank.
__device__ __forceinline__ word weights_at(unsigned address)
{
    return (word)((address & 0x3ffff) >> 4) | (word)TILE_O << 16 | (word)8 << 32;
}

