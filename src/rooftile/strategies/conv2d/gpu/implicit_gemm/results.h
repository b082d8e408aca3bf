// The epilogue of a tile's sums: bias, activation, pool, and stores in whole lines.
//
// A warp has 16 maps of its warpgroup's pixels.  Its results wait in shared memory, 32 pixels at a
// time, and leave it in runs: pixels of a map or, with OUT_LAST, maps of a pixel.
//
// out[images][MAPS][ROWS][COLUMNS], or with OUT_LAST [images][ROWS][COLUMNS][MAPS].

#pragma once

#include "conv2d/gpu/implicit_gemm/parts.h"

#if OUT_LAST
#define OUT_AT(map, pixel) ((pixel) * MAPS + (map))
#define KEPT_AT(map, pixel) ((pixel) * 20 + (map))
#define STORED (MAPS % 4 == 0 ? 4 : 1)
#else
#define OUT_AT(map, pixel) ((map) * (ROWS * COLUMNS) + (pixel))
#define KEPT_AT(map, pixel) ((map) * 40 + (pixel))
#endif

// The place of a warpgroup's result in the rows and columns of its image, or -1 beyond them.
__device__ __forceinline__ int pixel_of(int n, struct tile tile)
{
    int group = GROUPS == 2 ? threadIdx.x / 128 - 1 : 0;
#if STRIPS
    const int wide = 8 / POOL_WIDTH;
    int i = tile.row / POOL_HEIGHT + n / wide;
    int j = (tile.column + 8 * group) / POOL_WIDTH + n % wide;
#else
    int at = tile.start + group * PIXELS + n, i = tile.row + at / LINE, j = at % LINE;
#endif
    return i < ROWS && j < COLUMNS && n < RESULTS ? i * COLUMNS + j : -1;
}

// A thread's result `e` of a slice that begins at pixel `first`: of every eight pixels it has two of
// two maps, or of every eight windows one.
__device__ __forceinline__ void keep(float* kept, const float sum[SUMS], int first,
                                     const float shift[2])
{
    int lane = threadIdx.x % 32;
#if POOL_HEIGHT == 2
    // Two rows of eight columns lie four sums apart, and a lane has a window's two columns.
    UNROLL for (int e = 0; e < SLICE / 2; e++) {
        int n = first / 4 + e / 2, m = e % 2;
        if (n >= RESULTS / 4) continue;
        float y = POOL_AVERAGE ? 0.0f : -INFINITY;
        UNROLL for (int i = 0; i < 4; i++) {
            float z = sum[8 * n + i / 2 * 4 + 2 * m + i % 2];
            y = POOL_WITH(y, POOL_AVERAGE ? activate(z + shift[m]) : z);
        }
        kept[KEPT_AT(lane / 4 + 8 * m, (n * 4 - first) + lane % 4)] =
            POOL_AVERAGE ? POOL_END(y) : activate(y + shift[m]);
    }
#else
    UNROLL for (int e = 0; e < SLICE / 2; e++) {
        if (first / 2 + e >= SUMS) continue;
        float y = activate(sum[first / 2 + e] + shift[e / 2 % 2]);
        kept[KEPT_AT(lane / 4 + ROW_OF(e), lane % 4 * 2 + COLUMN_OF(e))] = y;
    }
#endif
}

#if OUT_LAST
__device__ __forceinline__ void store_slice(const float* kept, result* out, int first, int map,
                                            struct tile tile)
{
    const int lanes = 16 / STORED;
    int m = threadIdx.x % lanes * STORED;
    UNROLL for (int e = 0; e < SLICE; e += 32 / lanes) {
        int n = e + threadIdx.x % 32 / lanes, pixel = pixel_of(first + n, tile);
        if (pixel < 0 || map + m >= MAPS) continue;
        result* to = out + OUT_AT(map + m, pixel);
#if MAPS % 4 == 0
        float4 y = *(const float4*)(kept + KEPT_AT(m, n));
        *(result_4*)to = RESULT_4(y.x, y.y, y.z, y.w);
#else
        *to = RESULT(kept[KEPT_AT(m, n)]);
#endif
    }
}
#else
__device__ __forceinline__ void store_slice(const float* kept, result* out, int first, int map,
                                            struct tile tile)
{
    int lane = threadIdx.x % 32, pixel = pixel_of(first + lane, tile);
    UNROLL for (int m = 0; m < 16; m++)
        if (pixel >= 0 && map + m < MAPS)
            out[OUT_AT(map + m, pixel)] = RESULT(kept[KEPT_AT(m, lane)]);
}
#endif

// Finishes and stores a thread's sums, as far as the block has them of all parts.
__device__ __forceinline__ void finish(const float sum[SUMS], struct places in, struct tile tile,
                                       const float* bias, result* out)
{
    int warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
    int map = tile.map + (GROUPS == 1 ? warp / 4 * 64 : 0) + warp % 4 * 16;
    float shift[2];
    UNROLL for (int m = 0; m < 2; m++) {
        int own = map + lane / 4 + 8 * m;
        shift[m] = MAPS % TILE_MAPS == 0 || own < MAPS ? __ldg(bias + own) : 0.0f;
    }
    float* kept = in.kept + warp * (KEPT_BYTES / 32);
    out += (size_t)tile.image * RESULT_SIZE;
    UNROLL for (int first = 0; first < RESULTS; first += SLICE) {
        if (!OWN_SLICE(first)) continue;
        keep(kept, sum, first, shift);
        __syncwarp();
        store_slice(kept, out, first, map, tile);
        __syncwarp();
    }
}
