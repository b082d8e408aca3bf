// Rung 8, coarsened: QUADS times four neighbouring outputs a thread, in registers.
//
// In the tiles below, every tap is a read of shared memory, as slow as the loads that a cache hits;
// a warp moves 128 bytes a request; and a barrier parts loading from summing.  Here a thread loads
// the window of a quad, four outputs, as vectors of 16 bytes, and makes the four sums from registers:
// of MASK + 3 elements each is used up to four times.  What neighbours load as well comes from the
// L1 cache.  The windows of all QUADS are loaded before the first sum, and no thread waits for
// another.  What it removes: shared memory, barriers, three loads of four, three stores of four.
//
// Quads of a thread lie BLOCK quads apart, so that a warp's loads and stores are one run.  Where rows
// begin at no multiple of 16 bytes, VECTOR_IN or VECTOR_OUT is 0, and elements are moved one by one.
//
// x[images][CHANNELS][length], taps[SLICE_MAPS][CHANNELS][MASK], out[images][MAPS][outputs];
// `first` is the slice's first map.
// Grid: x over blocks of outputs, y over images x SLICE_MAPS.
// Block: x over BLOCK quads.

#include "conv1d.h"

CONSTANT_ARRAY(float, taps, SLICE_MAPS * CHANNELS * MASK)

// A window begins ROUNDED elements before its quad, a multiple of four; its first SKIPPED elements
// meet no tap.
#define ROUNDED ((BEFORE + 3) / 4 * 4)
#define SKIPPED (ROUNDED - BEFORE)
#define WINDOW ((SKIPPED + MASK + 3 + 3) / 4 * 4)
#define APART (4 * BLOCK)

// Fill the windows of all quads; `at` is where the first begins.
__device__ __forceinline__ void bring(float windows[QUADS][WINDOW], const GLOBAL float* signal,
                                      int64 at, int64 length)
{
    if (at >= 0 && at + (QUADS - 1) * APART + WINDOW <= length) {
        UNROLL for (int u = 0; u < QUADS; u++)
            UNROLL for (int e = 0; e < WINDOW; e += 4) {
                const GLOBAL float* from = signal + at + u * APART + e;
#if VECTOR_IN
                float4 four = *(const GLOBAL float4*)from;
#else
                float4 four = make_float4(from[0], from[1], from[2], from[3]);
#endif
                windows[u][e] = four.x;
                windows[u][e + 1] = four.y;
                windows[u][e + 2] = four.z;
                windows[u][e + 3] = four.w;
            }
    } else {
        UNROLL for (int u = 0; u < QUADS; u++)
            UNROLL for (int e = 0; e < WINDOW; e++)
                windows[u][e] = element(signal, at + u * APART + e, length);
    }
}

__global__ void LAUNCH_BOUNDS(BLOCK)
conv1d(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out, int64 length,
       int64 outputs, int images, int first CONSTANT_ARGUMENT(float, taps))
{
    int64 start = (int64)blockIdx.x * QUADS * APART + 4 * threadIdx.x;
    if (start >= outputs) return;
    for (int64 unit = blockIdx.y; unit < (int64)images * SLICE_MAPS; unit += gridDim.y) {
        int64 n = unit / SLICE_MAPS;
        int slot = unit % SLICE_MAPS, m = first + slot;
        if (m >= MAPS) continue;
        float sums[QUADS][4];
        UNROLL for (int u = 0; u < QUADS; u++)
            UNROLL for (int v = 0; v < 4; v++) sums[u][v] = 0.0f;
        for (int c = 0; c < CHANNELS; c++) {
            float windows[QUADS][WINDOW];
            bring(windows, x + (n * CHANNELS + c) * length, start - ROUNDED, length);
            UNROLL for (int u = 0; u < QUADS; u++)
                UNROLL for (int begin = 0; begin < MASK; begin += CHAIN) {
                    float parts[4] = {0.0f, 0.0f, 0.0f, 0.0f};
                    UNROLL for (int q = begin; q < CHAIN_END(begin); q++)
                        UNROLL for (int v = 0; v < 4; v++)
                            parts[v] += taps[(slot * CHANNELS + c) * MASK + q] *
                                        windows[u][SKIPPED + q + v];
                    UNROLL for (int v = 0; v < 4; v++) sums[u][v] += parts[v];
                }
        }
        GLOBAL float* to = out + (n * MAPS + m) * outputs;
        UNROLL for (int u = 0; u < QUADS; u++) {
            int64 i = start + u * APART;
            UNROLL for (int v = 0; v < 4; v++) sums[u][v] = kept(sums[u][v], i + v, length);
            if (VECTOR_OUT && i + 4 <= outputs) {
                *(GLOBAL float4*)(to + i) =
                    make_float4(sums[u][0], sums[u][1], sums[u][2], sums[u][3]);
            } else {
                UNROLL for (int v = 0; v < 4; v++)
                    if (i + v < outputs) to[i + v] = sums[u][v];
            }
        }
    }
}
