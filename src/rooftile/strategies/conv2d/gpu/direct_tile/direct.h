// Texts in which a thread owns pooling windows of several maps (direct_tile, direct_bulk): their
// geometry, the sums and what becomes of them.
//
// weights[GROUPS][CHANNELS][MASK_HEIGHT][TAP_ROW], where a row holds MASK_WIDTH x THREAD_MAPS taps.

#pragma once

#include "conv2d/gpu/conv2d.h"
#include "common/formats.h"

#define SUM_ROWS (THREAD_ROWS * POOL_HEIGHT)
#define SUM_COLUMNS (THREAD_COLUMNS * POOL_WIDTH)
#define PATCH_ROWS ((SUM_ROWS - 1) * STRIDE_Y + MASK_HEIGHT)
#define PATCH_COLUMNS ((SUM_COLUMNS - 1) * STRIDE_X + MASK_WIDTH)
#define BAND_STRIDE (BAND_ROWS * POOL_HEIGHT * STRIDE_Y)
#define BANDS ((ROWS + BAND_ROWS - 1) / BAND_ROWS)
#define ACROSS ((COLUMNS + THREAD_COLUMNS - 1) / THREAD_COLUMNS)
// The part of a row of the image that a row of threads reads, windows beyond the last column
// included.
#define READ_COLUMNS ((ACROSS - 1) * SUM_COLUMNS * STRIDE_X + PATCH_COLUMNS)
#define GROUPS (PADDED_MAPS / THREAD_MAPS)
#define TAP_ROW ((MASK_WIDTH * THREAD_MAPS + 3) / 4 * 4)
#define GROUP_TAPS (MASK_HEIGHT * TAP_ROW)

// Reads one row of a thread's patch in as few loads as its alignment allows. The place that depends
// on the thread is a multiple of ALIGNED floats; the row is `start` floats beyond it.
__device__ __forceinline__ void load_patch(const SHARED float* row, int start, float* patch)
{
    UNROLL for (int v = 0; v < PATCH_COLUMNS; v++) {
        int in_four = (start + v) % ALIGNED, in_two = in_four % 2;
        if (ALIGNED == 4 && v >= in_four && v - in_four + 4 <= PATCH_COLUMNS) {
            if (in_four > 0) continue;
            float4 four = *(const SHARED float4*)(row + v);
            patch[v] = four.x, patch[v + 1] = four.y, patch[v + 2] = four.z, patch[v + 3] = four.w;
        } else if (ALIGNED >= 2 && v >= in_two && v - in_two + 2 <= PATCH_COLUMNS) {
            if (in_two > 0) continue;
            float2 two = *(const SHARED float2*)(row + v);
            patch[v] = two.x, patch[v + 1] = two.y;
        } else {
            patch[v] = row[v];
        }
    }
}

#if TAPS_CONSTANT
#define TAPS CONSTANT
#else
#define TAPS SHARED
#endif

// Rows of the patch that are held at a time: where sums have several rows, each meets several rows
// of taps.
#define HELD_ROWS (SUM_ROWS > 1 ? PATCH_ROWS : 1)
// Where rows of taps have nothing in common, many products are unrolled for one row only: compilers
// take a second or two for thousands of them, and of a large mask half a second even where a thread
// has few sums. Taps in constant memory are operands only where their places are literals.
#define TAPS_OF_MASK (MASK_HEIGHT * MASK_WIDTH)
#if SUM_ROWS == 1 && !TAPS_CONSTANT && \
    (TAPS_OF_MASK > 64 || TAPS_OF_MASK * THREAD_MAPS * SUM_COLUMNS > 2048)
#define TAP_ROWS ROLLED
#else
#define TAP_ROWS UNROLL
#endif

// Reads a row of taps.  One by one they would be found to lie side by side all the same, in a fifth
// of the compiler's time.
__device__ __forceinline__ void load_taps(const TAPS float* taps, float row[TAP_ROW])
{
#if TAPS_CONSTANT
    UNROLL for (int e = 0; e < TAP_ROW; e++) row[e] = taps[e];
#else
    UNROLL for (int e = 0; e < TAP_ROW; e += 4) {
        float4 four = *(const TAPS float4*)(taps + e);
        row[e] = four.x, row[e + 1] = four.y, row[e + 2] = four.z, row[e + 3] = four.w;
    }
#endif
}

// Adds one channel to all sums of a thread, a row of taps at a time.
__device__ __forceinline__ void add_channel(const SHARED float* tile, const TAPS float* taps,
                                            float sum[THREAD_MAPS][SUM_ROWS][SUM_COLUMNS])
{
    float patch[HELD_ROWS][PATCH_COLUMNS];
    TAP_ROWS for (int p = 0; p < MASK_HEIGHT; p++) {
        UNROLL for (int a = p; a < p + SUM_ROWS * STRIDE_Y; a += STRIDE_Y)
            // The others are in registers: an earlier row of taps has met them.
            if (p < STRIDE_Y || a + STRIDE_Y >= p + SUM_ROWS * STRIDE_Y)
                load_patch(tile + a * PITCH, a * PITCH, patch[a % HELD_ROWS]);
        float row[TAP_ROW];
        load_taps(taps + p * TAP_ROW, row);
        UNROLL for (int q = 0; q < MASK_WIDTH; q++)
            UNROLL for (int m = 0; m < THREAD_MAPS; m++) {
                float tap = row[q * THREAD_MAPS + m];
                UNROLL for (int i = 0; i < SUM_ROWS; i++)
                    UNROLL for (int j = 0; j < SUM_COLUMNS; j++)
                        sum[m][i][j] += tap * patch[(i * STRIDE_Y + p) % HELD_ROWS][j * STRIDE_X + q];
            }
    }
}

// Of an activation that rises the largest sum gives the largest result, and one activation does.
#define ACTIVATED_LAST (POOL_KIND == 0 && RISES(ACTIVATION) && !INTERIOR)

// Bias, activation and pool of a thread's window in column `w` of its row `r`; (row, column) is the
// result of its first window.
__device__ __forceinline__ float pooled(float sum[SUM_ROWS][SUM_COLUMNS], int r, int w, float shift,
                                        int row, int column)
{
    float most = 0.0f;
    UNROLL for (int e = 0; e < POOL_HEIGHT * POOL_WIDTH; e++) {
        int i = r * POOL_HEIGHT + e / POOL_WIDTH, j = w * POOL_WIDTH + e % POOL_WIDTH;
        float z = sum[i][j];
        if (!ACTIVATED_LAST)
            z = activate(kept(z + shift, (row * POOL_HEIGHT + i) * STRIDE_Y - PAD_Y,
                              (column * POOL_WIDTH + j) * STRIDE_X - PAD_X));
        most = e == 0 ? POOL_FIRST(z) : POOL_WITH(most, z);
    }
    return POOL_END(ACTIVATED_LAST ? activate(most + shift) : most);
}

// A thread's results of one map: `out` is the place of its first window, (row, column) of its plane.
__device__ __forceinline__ void store(GLOBAL result* out, float sum[SUM_ROWS][SUM_COLUMNS],
                                      float shift, int rows, int columns, int row, int column)
{
#define OF_WINDOW(w) pooled(sum, r, w, shift, row, column)
    UNROLL for (int r = 0; r < THREAD_ROWS; r++) {
#if COLUMNS % THREAD_COLUMNS == 0 && THREAD_COLUMNS == 2
        if (r >= rows) break;
        *(GLOBAL result_2*)(out + r * COLUMNS) =
            RESULT_2(OF_WINDOW(0), OF_WINDOW(1));
#elif COLUMNS % THREAD_COLUMNS == 0 && THREAD_COLUMNS == 4
        if (r >= rows) break;
        *(GLOBAL result_4*)(out + r * COLUMNS) =
            RESULT_4(OF_WINDOW(0), OF_WINDOW(1), OF_WINDOW(2), OF_WINDOW(3));
#else
        // One test, not one within another: between barriers, PoCL 3.0 loses the outer one.
        int kept = r < rows ? columns : 0;
        UNROLL for (int w = 0; w < THREAD_COLUMNS; w++)
            if (w < kept) out[r * COLUMNS + w] = RESULT(OF_WINDOW(w));
#endif
    }
}

#if WINNERS
#include "common/winner.h"
#include "common/winner_place.h"

// The offset of a window's element e from its first place, and the value of `where` for an argmax
// there, by the window's result.
#if WHERE_NARROW
#define POSITION(e) (e)
#define WON(position, row, column, y) (CUT(WIDE_RESULT(y)) ? NO_WINNER : (position))
#else
#define POSITION(e) ((e) / POOL_WIDTH * CONV_COLUMNS + (e) % POOL_WIDTH)
#define WON(position, row, column, y) \
    ((row) * POOL_HEIGHT * CONV_COLUMNS + (column) * POOL_WIDTH + (position))
#endif

// The same of a maximum, with where it stands.
__device__ __forceinline__ void store_winners(GLOBAL result* out, GLOBAL winner_place* where,
                                              float sum[SUM_ROWS][SUM_COLUMNS], float shift,
                                              int rows, int columns, int row, int column)
{
    UNROLL for (int r = 0; r < THREAD_ROWS; r++) {
        // One test, not one within another: between barriers, PoCL 3.0 loses the outer one.
        int kept = r < rows ? columns : 0;
        UNROLL for (int w = 0; w < THREAD_COLUMNS; w++) {
            float best = sum[r * POOL_HEIGHT][w * POOL_WIDTH];
            int position = 0;
            UNROLL for (int e = 1; e < POOL_HEIGHT * POOL_WIDTH; e++) {
                float z = sum[r * POOL_HEIGHT + e / POOL_WIDTH][w * POOL_WIDTH + e % POOL_WIDTH];
                if (BEATS(z, best))
                    best = z, position = POSITION(e);
            }
            if (w >= kept) continue;
            result y = RESULT(activate(best + shift));
            out[r * COLUMNS + w] = y;
            where[r * COLUMNS + w] = WON(position, row + r, column + w, y);
        }
    }
}
#endif
