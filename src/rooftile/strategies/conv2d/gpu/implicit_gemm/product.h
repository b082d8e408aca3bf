// The implicit matrix product on Hopper's warpgroups: tiles, packing, what the bulk copy engine
// fetches, and what becomes of sums.
//
// Rows of the product are a tile's pixels, columns are maps, and the sum runs over chunks of
// channels (128 bytes of a pixel) and the mask's taps; a step is one tap of one chunk.  NUMBERS
// elements of the cores' type stand for one value, as a text's `converted` says.
//
// packed[NUMBERS x images][HEIGHT][WIDTH][PADDED_CHANNELS];
// weights[map tiles][CHUNKS][taps][TILE_MAPS][CHUNK];
// stages[map tiles][CHUNKS][taps][NUMBERS][TILE_MAPS][CHUNK].

#pragma once

#include "conv2d/gpu/conv2d.h"
#include "common/warpgroups.h"

#define CHUNK (128 / ELEMENT_BYTES)
#define CHUNKS ((CHANNELS + CHUNK - 1) / CHUNK)
#define TILE_ROWS 16
#define HALVES (TILE_COLUMNS / 8)
#define TILES_DOWN ((CONV_ROWS + TILE_ROWS - 1) / TILE_ROWS)
#define TILES_RIGHT ((CONV_COLUMNS + TILE_COLUMNS - 1) / TILE_COLUMNS)
#define MAP_TILES ((MAPS + TILE_MAPS - 1) / TILE_MAPS)
#define LOADED_BYTES (PATCH_ROWS * PATCH_COLUMNS * 128)
#define STAGE_BYTES (NUMBERS * TILE_MAPS * 128)
#define STEPS (CHUNKS * MASK_SIZE)
#define PIECE (16 / ELEMENT_BYTES)

#if ELEMENT_BYTES == 2
typedef unsigned short element;
#else
typedef float element;
#endif

// A value in the cores' type: number 1 is what the rounding to number 0 has left.
__device__ __forceinline__ element converted(float value, int number);

// Writes all numbers of a weight to its stage.
__device__ __forceinline__ void pack_weight(float weight, element* stages, int i)
{
    const int tap = TILE_MAPS * CHUNK;
    UNROLL for (int number = 0; number < NUMBERS; number++)
        stages[(size_t)(i / tap * NUMBERS + number) * tap + i % tap] = converted(weight, number);
}

// Packs a run of an image's pixels, channels innermost.
__device__ __forceinline__ void pack_run(const float* image, element* packed, float scale, int n,
                                         int images)
{
    __shared__ float tile[CHUNK][PACK_PIXELS + 1];
    const int size = HEIGHT * WIDTH;
    int first = blockIdx.x * PACK_PIXELS, channel = blockIdx.y * CHUNK;
    int pixel = threadIdx.x % PACK_PIXELS;
    UNROLL for (int e = 0; e < CHUNK; e += PACK_THREADS / PACK_PIXELS) {
        int c = e + threadIdx.x / PACK_PIXELS;
        bool inside = first + pixel < size && channel + c < CHANNELS;
        tile[c][pixel] = inside ? image[(channel + c) * size + first + pixel] : 0.0f;
    }
    __syncthreads();
    int at = threadIdx.x % 8 * PIECE;
    UNROLL for (int e = 0; e < PACK_PIXELS; e += PACK_THREADS / 8) {
        int pixel = e + threadIdx.x / 8;
        if (first + pixel >= size || channel + at >= PADDED_CHANNELS) continue;
        UNROLL for (int number = 0; number < NUMBERS; number++) {
            __align__(16) element piece[PIECE];
            UNROLL for (int i = 0; i < PIECE; i++)
                piece[i] = converted(scale * tile[at + i][pixel], number);
            size_t place = ((size_t)number * images + n) * size + first + pixel;
            *(uint4*)(packed + place * PADDED_CHANNELS + channel + at) = *(uint4*)piece;
        }
    }
    __syncthreads();
}

// The addresses of things in shared memory.
struct places { unsigned patches, stages, patch_barriers, stage_barriers; };

// One tile of results: the persistent grid takes them one by one.
struct tile { int image, row, column, map; };

__device__ __forceinline__ struct tile tile_of(int index)
{
    struct tile tile;
    tile.map = index % MAP_TILES * TILE_MAPS;
    int place = index / MAP_TILES;
    tile.column = place % TILES_RIGHT * TILE_COLUMNS;
    tile.row = place / TILES_RIGHT % TILES_DOWN * TILE_ROWS;
    tile.image = place / (TILES_RIGHT * TILES_DOWN);
    return tile;
}

// One thread brings each chunk's patch into the next buffer that is free.
__device__ __forceinline__ void fetch_patches(const tensor_map* map, struct places in, int images)
{
    struct turn turn = {0, 0};
    for (int index = blockIdx.x; index < images * TILES; index += gridDim.x) {
        struct tile tile = tile_of(index);
        ROLLED for (int chunk = 0; chunk < CHUNKS; chunk++, advance(&turn, PATCHES)) {
            unsigned full = FULL(in.patch_barriers, turn.at);
            wait(EMPTY(in.patch_barriers, turn.at, PATCHES), turn.round ^ 1);
            expect_bytes(NUMBERS * LOADED_BYTES, full);
            UNROLL for (int number = 0; number < NUMBERS; number++)
                copy_box_4(in.patches + (turn.at * NUMBERS + number) * PATCH_BYTES, map,
                           chunk * CHUNK, tile.column - PAD_X, tile.row - PAD_Y,
                           number * images + tile.image, full);
        }
    }
}

// Another thread brings each step's weights into the next stage that is free.
__device__ __forceinline__ void fetch_weights(const tensor_map* map, struct places in, int images)
{
    struct turn turn = {0, 0};
    for (int index = blockIdx.x; index < images * TILES; index += gridDim.x) {
        int row = index % MAP_TILES * STEPS * NUMBERS * TILE_MAPS;
        ROLLED for (int step = 0; step < STEPS; step++, advance(&turn, STAGES)) {
            unsigned full = FULL(in.stage_barriers, turn.at);
            wait(EMPTY(in.stage_barriers, turn.at, STAGES), turn.round ^ 1);
            expect_bytes(STAGE_BYTES, full);
            copy_box_2(in.stages + turn.at * STAGE_BYTES, map, 0, row + step * NUMBERS * TILE_MAPS,
                       full);
        }
    }
}

// Sets up the barriers, and says where things are.
__device__ __forceinline__ struct places set_up(char* shared)
{
    struct places in;
    in.patches = (unsigned)__cvta_generic_to_shared(shared);
    in.stages = in.patches + PATCHES * NUMBERS * PATCH_BYTES;
    in.patch_barriers = in.stages + STAGES * STAGE_BYTES;
    in.stage_barriers = in.patch_barriers + 16 * PATCHES;
    if (threadIdx.x == 0) {
        for (int e = 0; e < 2 * PATCHES; e++)
            expect(e < PATCHES ? 1 : 8, in.patch_barriers + 8 * e);
        for (int e = 0; e < 2 * STAGES; e++)
            expect(e < STAGES ? 1 : 8, in.stage_barriers + 8 * e);
        barriers_ready();
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
        FEWER_REGISTERS(40);
        if (threadIdx.x == 0) fetch_weights(stages, in, images);
        if (threadIdx.x == 32) fetch_patches(image, in, images);
        return true;
    }
    MORE_REGISTERS(232);
    return false;
}

// Stores one result of a thread.  The compiler drops the condition where tiles divide the sizes.
__device__ __forceinline__ void store(float* out, int map, int row, int column, float y)
{
    bool inside = (MAPS % TILE_MAPS == 0 || map < MAPS) &&
                  (ROWS * POOL_HEIGHT % TILE_ROWS == 0 || row < ROWS) &&
                  (COLUMNS * POOL_WIDTH % TILE_COLUMNS == 0 || column < COLUMNS);
    if (inside) out[(map * ROWS + row) * COLUMNS + column] = y;
}

// The pool over a thread's two rows and over the lane with the pixel beside its own.
__device__ __forceinline__ float pooled(float above, float below, float shift)
{
    float first = POOL_AVERAGE ? activate(above + shift) : above;
    float y = POOL_WITH(POOL_AVERAGE ? 0.0f : -INFINITY, first);
    y = POOL_WITH(y, POOL_AVERAGE ? activate(below + shift) : below);
    y = POOL_WITH(y, __shfl_xor_sync(~0u, y, 4));
    return POOL_AVERAGE ? POOL_END(y) : activate(y + shift);
}

// Bias, activation, pool and store.  A thread holds, of every eight maps, two of two pixels
// above each other: rows 2 warp and 2 warp + 1 of its warpgroup's eight, column lane / 4.
__device__ __forceinline__ void finish(float sum[HALVES][TILE_MAPS / 2], struct tile tile,
                                       const float* bias, float* out)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4;
    int row = tile.row + 2 * warp, column = tile.column + lane / 4;
    out += (size_t)tile.image * RESULT_SIZE;
    UNROLL for (int e = 0; e < TILE_MAPS / 2; e += 4)
        UNROLL for (int m = 0; m < 2; m++) {
            int map = tile.map + 2 * e + 2 * (lane % 4) + m;
            float shift = MAPS % TILE_MAPS == 0 || map < MAPS ? __ldg(bias + map) : 0.0f;
            float y[HALVES];
            UNROLL for (int half = 0; half < HALVES; half++) {
                float above = sum[half][e + m], below = sum[half][e + 2 + m];
#if POOL_HEIGHT == 2
                y[half] = pooled(above, below, shift);
#else
                store(out, map, row, column + 8 * half, activate(above + shift));
                store(out, map, row + 1, column + 8 * half, activate(below + shift));
#endif
            }
#if POOL_HEIGHT == 2
            // Lanes of even columns hold what their neighbours do: those store the other half.
            bool odd = lane / 4 % 2;
            if (HALVES == 2 || !odd)
                store(out, map, row / 2, column / 2 + (odd ? 4 : 0), odd ? y[HALVES - 1] : y[0]);
#endif
        }
}
