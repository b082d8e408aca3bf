// Weights and images in the cores' type, channels innermost.
//
// x[images][CHANNELS][HEIGHT][WIDTH], or with X_LAST its channels last;
// packed[NUMBERS x images][HEIGHT][WIDTH][PADDED_CHANNELS];
// weights[map tiles][CHUNKS][taps][TILE_MAPS][CHUNK].

#pragma once

#include "conv2d/gpu/conv2d.h"
#include "common/cores.h"
#include "common/formats.h"
#include "common/tf32.h"

#define CHUNK (128 / ELEMENT_BYTES)
#define CHUNKS ((CHANNELS + CHUNK - 1) / CHUNK)
#define PIECE (16 / ELEMENT_BYTES)

#if ELEMENT_BYTES == 2
typedef unsigned short element;
#else
typedef float element;
#endif

// The index of an input in its image, by its channel and its pixel.
#if X_LAST
#define INPUT_AT(channel, pixel) ((pixel) * CHANNELS + (channel))
#else
#define INPUT_AT(channel, pixel) ((channel) * (HEIGHT * WIDTH) + (pixel))
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

// An input that has 16 bits is a number of the cores already.
#if X_NARROW
#define NUMBER_OF(x, scale, number) (x)
#else
#define NUMBER_OF(x, scale, number) converted((scale) * (x), number)
#endif

// Writes a piece of a pixel's channels, in all numbers.
__device__ __forceinline__ void pack_piece(const given x[PIECE], element* packed, float scale,
                                           int64 image, int images, int pixel, int channel)
{
    UNROLL for (int number = 0; number < NUMBERS; number++) {
        __align__(16) element piece[PIECE];
        UNROLL for (int i = 0; i < PIECE; i++) piece[i] = NUMBER_OF(x[i], scale, number);
        size_t place = (number * (int64)images + image) * (HEIGHT * WIDTH) + pixel;
        *(uint4*)(packed + place * PADDED_CHANNELS + channel) = *(uint4*)piece;
    }
}

// Packs a run of an image's pixels.  Grid: x runs of PACK_PIXELS pixels, y chunks.
__device__ __forceinline__ void pack_run(const given* image, element* packed, float scale, int n,
                                         int images)
{
    const int size = HEIGHT * WIDTH;
    int first = blockIdx.x * PACK_PIXELS, start = blockIdx.y * CHUNK;
    int channel = start + threadIdx.x % 8 * PIECE;
#if !X_LAST
    __shared__ given tile[CHUNK][PACK_PIXELS + 1];
    int own = first + threadIdx.x % PACK_PIXELS;
    UNROLL for (int e = 0; e < CHUNK; e += PACK_THREADS / PACK_PIXELS) {
        int c = e + threadIdx.x / PACK_PIXELS;
        bool inside = own < size && start + c < CHANNELS;
        tile[c][threadIdx.x % PACK_PIXELS] = inside ? image[INPUT_AT(start + c, own)] : (given)0;
    }
    __syncthreads();
#endif
    UNROLL for (int e = 0; e < PACK_PIXELS; e += PACK_THREADS / 8) {
        int pixel = e + threadIdx.x / 8;
        if (first + pixel >= size || channel >= PADDED_CHANNELS) continue;
        given x[PIECE];
        UNROLL for (int i = 0; i < PIECE; i++) {
#if X_LAST
            x[i] = channel + i < CHANNELS ? image[INPUT_AT(channel + i, first + pixel)] : (given)0;
#else
            x[i] = tile[channel - start + i][pixel];
#endif
        }
        pack_piece(x, packed, scale, n, images, first + pixel, channel);
    }
    __syncthreads();
}
