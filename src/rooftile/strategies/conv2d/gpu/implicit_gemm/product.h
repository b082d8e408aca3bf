// The implicit matrix product on Hopper's warpgroups: tiles, and what the bulk copy engine fetches.
//
// Rows of the product are maps, columns are pixels, and the sum runs over chunks of channels (128
// bytes of a pixel) and the mask's taps; a step is one tap of one chunk.  NUMBERS elements of the
// cores' type stand for one value, as a text's `converted` says.
//
// A patch is PATCH_ROWS rows of LINE pixels.  With STRIPS, a warpgroup's pixels are eight columns of
// PIXELS / 8 rows.  Else LINE is a row of the image with the ghost cells before it, which serve as
// those behind the row above; a warpgroup's pixels follow each other across rows, and those that
// are ghost cells' are not stored.
// Where a tile has 64 maps, the two warpgroups have pixels of their own, else maps of their own.
//
// image[NUMBERS x images][HEIGHT][WIDTH][PADDED_CHANNELS]: see `packing.h`;
// stages[map tiles][CHUNKS][taps][NUMBERS][TILE_MAPS][CHUNK].

#pragma once

#include "conv2d/gpu/implicit_gemm/packing.h"
#include "common/pipelines/pdl.h"
#include "common/pipelines/stages.h"
#include "common/pipelines/wgmma.h"

#define GROUPS (128 / TILE_MAPS)
#define MAP_TILES ((MAPS + TILE_MAPS - 1) / TILE_MAPS)
#define TILES (TILES_OF_PIXELS * MAP_TILES)
#define LOADED_BYTES (PATCH_ROWS * LINE * 128)
#define STAGE_BYTES (NUMBERS * TILE_MAPS * 128)
#define STEPS (CHUNKS * MASK_SIZE)
// Number of an instruction's 32 bytes in a chunk: the last one need not be full.
#define DEPTHS (CHUNKS == 1 ? (CHANNELS * ELEMENT_BYTES + 31) / 32 : 4)
#define SUMS (PIXELS / 2)
#define TILES_RIGHT ((CONV_COLUMNS + 8 * GROUPS - 1) / (8 * GROUPS))
// Bytes between eight pixels and the next eight.
#define PIXEL_PITCH (STRIPS ? LINE * 128 : 1024)
#define GROUP_BYTES ((STRIPS ? 8 : PIXELS) * 128)

// Bytes in which eight warps keep results of 16 maps by 32 pixels, in rows of 40.
#define KEPT_BYTES (8 * 16 * 40 * 4)

// The addresses of things in shared memory, and where results are kept.
struct places {
    unsigned patches, stages, patch_barriers, stage_barriers;
    float* kept;
};

// One tile of results: the persistent grid takes them one by one.  `row` and `column` are the first
// of its patch, less ghost cells; its pixels begin `start` further.
struct tile { int image, row, column, start, map; };

__device__ __forceinline__ struct tile tile_of(int index)
{
    struct tile tile;
    tile.map = index % MAP_TILES * TILE_MAPS;
    int at = index / MAP_TILES % TILES_OF_PIXELS;
    tile.image = index / TILES;
#if STRIPS
    tile.column = at % TILES_RIGHT * (8 * GROUPS);
    tile.row = at / TILES_RIGHT * (PIXELS / 8);
    tile.start = 0;
#else
    tile.column = 0;
    tile.row = at * (GROUPS * PIXELS) / LINE;
    tile.start = at * (GROUPS * PIXELS) % LINE;
#endif
    return tile;
}

// The rows of taps that a block of PARTS sums up.  A chunk has MASK_HEIGHT of them.
struct share { int first, last; };

__device__ __forceinline__ struct share share_of_block()
{
    const int rows = CHUNKS * MASK_HEIGHT;
    int part = blockIdx.x % PARTS;
    struct share share = {part * rows / PARTS, (part + 1) * rows / PARTS};
    return share;
}

// One thread brings each chunk's patch into the next buffer that is free.
__device__ __forceinline__ void fetch_patches(const tensor_map* map, struct places in, int images)
{
    struct pipeline_state pipe = {0, 0};
    struct share share = share_of_block();
    for (int index = blockIdx.x / PARTS; index < images * TILES; index += gridDim.x / PARTS) {
        struct tile tile = tile_of(index);
        int last = (share.last - 1) / MASK_HEIGHT;
        ROLLED for (int chunk = share.first / MASK_HEIGHT; chunk <= last; chunk++) {
            unsigned full = producer_acquire_tx(in.patch_barriers, pipe, PATCHES, NUMBERS * LOADED_BYTES);
            UNROLL for (int number = 0; number < NUMBERS; number++)
                tma_load_4d(in.patches + (pipe.stage * NUMBERS + number) * PATCH_BYTES, map,
                           chunk * CHUNK, tile.column - PAD_X, tile.row - PAD_Y,
                           number * images + tile.image, full);
            advance(&pipe, PATCHES);
        }
    }
}

// Another thread brings each step's weights into the next stage that is free.  Where all fit, they
// stay.
__device__ __forceinline__ void fetch_weights(const tensor_map* map, struct places in, int images)
{
    struct pipeline_state pipe = {0, 0};
    struct share share = share_of_block();
    for (int index = blockIdx.x / PARTS; index < images * TILES; index += gridDim.x / PARTS) {
        int row = index % MAP_TILES * STEPS * NUMBERS * TILE_MAPS;
        ROLLED for (int step = share.first * MASK_WIDTH; step < share.last * MASK_WIDTH; step++) {
            unsigned full = FULL_BARRIER(in.stage_barriers, pipe.stage);
            if (!RESIDENT) producer_acquire(in.stage_barriers, pipe, STAGES);
            arrive_and_expect_tx(STAGE_BYTES, full);
            tma_load_2d(in.stages + pipe.stage * STAGE_BYTES, map, 0, row + step * NUMBERS * TILE_MAPS,
                       full);
            advance(&pipe, STAGES);
        }
        if (RESIDENT) return;
    }
}

// Sets up the barriers, and says where things are.
__device__ __forceinline__ struct places init_pipeline(char* shared)
{
    struct places in;
    in.patches = (unsigned)__cvta_generic_to_shared(shared);
    in.stages = in.patches + PATCHES * NUMBERS * PATCH_BYTES;
    const int before = PATCHES * NUMBERS * PATCH_BYTES + STAGES * STAGE_BYTES;
    in.kept = (float*)(shared + before);
    in.patch_barriers = in.patches + before + KEPT_BYTES;
    in.stage_barriers = in.patch_barriers + 16 * PATCHES;
    if (threadIdx.x == 0) {
        init_stages(in.patch_barriers, PATCHES, 1, 8);
        init_stages(in.stage_barriers, STAGES, 1, 8);
        fence_barrier_init();
    }
    __syncthreads();
    return in;
}

// The first warpgroup fetches, and then returns true.  It needs few registers; the others take what
// it gives up.
__device__ __forceinline__ bool fetches(const tensor_map* image, const tensor_map* stages,
                                        struct places in, int images)
{
    if (threadIdx.x < 128) {
        SETMAXNREG_DEC(40);
        if (threadIdx.x == 0) fetch_weights(stages, in, images);
        if (threadIdx.x == 32) fetch_patches(image, in, images);
        return true;
    }
    SETMAXNREG_INC(232);
    return false;
}

// A warpgroup's position in both rings, and the stages that it has yet to release.
struct reader { struct pipeline_state patch, stage; unsigned inputs, weights; };

// The address of a warpgroup's pixels in the next patch, which it waits for.
__device__ __forceinline__ unsigned next_patch(struct places in, const struct reader* reader,
                                               struct tile tile)
{
    consumer_wait(in.patch_barriers, reader->patch);
    int group = GROUPS == 2 ? threadIdx.x / 128 - 1 : 0;
    return in.patches + reader->patch.stage * NUMBERS * PATCH_BYTES + group * GROUP_BYTES +
           tile.start * 128;
}

// The address of a warpgroup's maps in the next step's weights, which it waits for.
__device__ __forceinline__ unsigned next_stage(struct places in, const struct reader* reader)
{
    consumer_wait(in.stage_barriers, reader->stage);
    int group = GROUPS == 1 ? threadIdx.x / 128 - 1 : 0;
    return in.stages + reader->stage.stage * STAGE_BYTES + group * (64 * 128);
}

// Products of a step have begun: those before are done with their weights, and maybe their patch.
__device__ __forceinline__ void leave_step(struct places in, struct reader* reader)
{
    WGMMA_WAIT(1);
    consumer_release(&reader->weights);
    consumer_release(&reader->inputs);
    if (!RESIDENT) reader->weights = EMPTY_BARRIER(in.stage_barriers, reader->stage.stage, STAGES);
    advance(&reader->stage, STAGES);
    if (RESIDENT) reader->stage.phase = 0;
}

// All products of a chunk have begun.
__device__ __forceinline__ void leave_patch(struct places in, struct reader* reader, bool last)
{
    reader->inputs = EMPTY_BARRIER(in.patch_barriers, reader->patch.stage, PATCHES);
    if (PATCHES == 1 || last) {
        WGMMA_WAIT(0);
        consumer_release(&reader->weights);
        consumer_release(&reader->inputs);
    }
    advance(&reader->patch, PATCHES);
}
