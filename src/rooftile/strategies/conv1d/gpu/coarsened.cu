// coarsened: QUADS times four neighbouring outputs a thread, in registers.
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
// Threads of a multiprocessor that registers are to suffice for.  Left to itself, the compiler aims
// at all that there can be, and parks numbers in memory for it.
#define RESIDENT 1280

// Elements that the windows of a thread span, from the first quad's to the last one's end.
#define SPAN ((QUADS - 1) * APART + WINDOW)

// The window that begins here.
__device__ __forceinline__ void bring(float window[WINDOW], const GLOBAL float* from)
{
    UNROLL for (int e = 0; e < WINDOW; e += 4) {
#if VECTOR_IN
        float4 four = ((const GLOBAL float4*)from)[e / 4];
#else
        float4 four = make_float4(from[e], from[e + 1], from[e + 2], from[e + 3]);
#endif
        window[e] = four.x;
        window[e + 1] = four.y;
        window[e + 2] = four.z;
        window[e + 3] = four.w;
    }
}

// Store the sums of a quad by its number in the row.
__device__ __forceinline__ void put(GLOBAL float* row, int64 quad, const float sums[4])
{
#if VECTOR_OUT
    ((GLOBAL float4*)row)[quad] = make_float4(sums[0], sums[1], sums[2], sums[3]);
#else
    UNROLL for (int v = 0; v < 4; v++) row[4 * quad + v] = sums[v];
#endif
}

__global__ void RESIDENT_BOUNDS(BLOCK, RESIDENT / BLOCK)
coarsened(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out, int64 length,
          int64 outputs, int images, int first CONSTANT_ARGUMENT(float, taps))
{
    int64 quad = (int64)blockIdx.x * QUADS * BLOCK + threadIdx.x;
    int64 start = 4 * quad, at = start - ROUNDED;
    int whole = at >= 0 && at + SPAN <= length && start + (QUADS - 1) * APART + 4 <= outputs;
    for (int64 unit = blockIdx.y; unit < (int64)images * SLICE_MAPS; unit += gridDim.y) {
        int64 n = unit / SLICE_MAPS;
        int slot = unit % SLICE_MAPS, m = first + slot;
        if (m >= MAPS) continue;
        const GLOBAL float* item = x + n * CHANNELS * length;
        GLOBAL float* row = out + (n * MAPS + m) * outputs;
        if (!whole) {
            // Near the ends of a row outputs are made one by one.
            ROLLED for (int e = 0; e < 4 * QUADS; e++) {
                int64 i = start + e / 4 * APART + e % 4;
                if (i >= outputs) break;
                float sum = 0.0f;
                for (int c = 0; c < CHANNELS; c++)
                    ROLLED for (int begin = 0; begin < MASK; begin += PART_TAPS) {
                        float part = 0.0f;
                        UNROLL_BY(8) for (int q = begin; q < PART_END(begin); q++)
                            part += taps[(slot * CHANNELS + c) * MASK + q] *
                                    element(item + c * length, i + q - BEFORE, length);
                        sum += part;
                    }
                row[i] = kept(sum, i, length);
            }
            continue;
        }
        float sums[QUADS][4];
        UNROLL for (int u = 0; u < QUADS; u++)
            UNROLL for (int v = 0; v < 4; v++) sums[u][v] = 0.0f;
        for (int c = 0; c < CHANNELS; c++) {
            float windows[QUADS][WINDOW];
            UNROLL for (int u = 0; u < QUADS; u++)
                bring(windows[u], item + c * length + at + u * APART);
            UNROLL for (int u = 0; u < QUADS; u++)
                UNROLL for (int begin = 0; begin < MASK; begin += PART_TAPS) {
                    float parts[4] = {0.0f, 0.0f, 0.0f, 0.0f};
                    UNROLL for (int q = begin; q < PART_END(begin); q++)
                        UNROLL for (int v = 0; v < 4; v++)
                            parts[v] += taps[(slot * CHANNELS + c) * MASK + q] *
                                        windows[u][SKIPPED + q + v];
                    UNROLL for (int v = 0; v < 4; v++) sums[u][v] += parts[v];
                }
        }
        UNROLL for (int u = 0; u < QUADS; u++) put(row, quad + u * BLOCK, sums[u]);
    }
}
