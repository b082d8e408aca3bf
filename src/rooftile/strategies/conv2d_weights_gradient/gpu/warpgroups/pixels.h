// An image's pixels on their way from memory through registers to a stage of shared memory, in the
// order in which products read them: once for each window of a row, and each row of a pair of
// positions, that meets them.
//
// A stage is [ACROSS planes][TILE_ROWS + 1][CHUNKS] pieces of 128 bytes.  A plane has four
// windows of a row. A chunk is two adjacent pixels of four channels; chunk d of a window begins 2 d
// pixels from its corner. A piece is [4 windows][2 rows][2 pixels][4 channels], and the first and
// the last row of pieces, of which a row of pixels is not there, are not read.

#pragma once

#include "conv2d_weights_gradient/gpu/warpgroups/numbers.h"
#include "conv2d_weights_gradient/gpu/warpgroups/threads.h"

#define PLANE (HEIGHT * WIDTH)
// Pixels of a unit, of four channels.
#define UNIT 4
#define UNIT_WORDS (UNIT * (X_NARROW ? 2 : 4) / 4)
// Chunks from a window's corner to the next one's.
#define APART (WINDOW_WIDTH / 2)
#define PIECE_BYTES 128
#define ROW_BYTES (CHUNKS * PIECE_BYTES)
#define PLANE_BYTES ((TILE_ROWS + 1) * ROW_BYTES)
#define PIXEL_BYTES (ACROSS * PLANE_BYTES)
// From a window to the next in a piece, and from a row to the next one.
#define WINDOW_BYTES 32
#define LINE_BYTES 16
#define NOWHERE (~0u)
// Pixels that a thread reads at a time: all of them lie inside of the image, or beyond it.
#if (WIDTH | PAD_X) % 4 == 0
#define RUN 4
#elif (WIDTH | PAD_X) % 2 == 0
#define RUN 2
#else
#define RUN 1
#endif
#define RUN_BYTES (RUN * (X_NARROW ? 2 : 4))
#if RUN_BYTES == 16
typedef uint4 run;
#elif RUN_BYTES == 8
typedef uint2 run;
#elif RUN_BYTES == 4
typedef unsigned run;
#else
typedef unsigned short run;
#endif

// Rows of the tile from one of a thread's units to the next one.
#define TURN_ROWS (THREADS / UNITS)

// A thread's first unit: its row of the tile, and its place in the row.  The others stand below it, so
// that their addresses differ by constants.
struct unit { int row, at; };
struct pixels { unsigned of[TASKS][4][UNIT_WORDS]; };

__device__ __forceinline__ struct unit own_unit(void)
{
    int thread = thread_anew();
    struct unit unit = {thread / UNITS, thread % UNITS};
    return unit;
}

// True if a thread has a unit of a turn: the remaining threads have none.
__device__ __forceinline__ int has_unit(struct unit unit, int turn)
{
    int there = unit.row < TURN_ROWS;
    // Parts that every problem of these sizes has are not tested for.
    int all = (turn + 1) * TURN_ROWS <= TILE_ROWS;
    return there && (all || unit.row < TILE_ROWS - turn * TURN_ROWS);
}

// Asks for a thread's pixels of an image; zeros around it.
__device__ __forceinline__ void ask_for_pixels(const given* x, int n, struct pixels* pixels)
{
    struct unit unit = own_unit();
    int i = unit.row - PAD_Y, j = UNIT * unit.at - PAD_X, channel = blockIdx.y * 4;
    const given* corner = x + ((int64)n * CHANNELS + channel) * PLANE + (i * WIDTH + j);
    UNROLL for (int turn = 0; turn < TASKS; turn++) {
        int down = turn * TURN_ROWS, inside = i + down >= 0 && i + down < HEIGHT;
        UNROLL for (int c = 0; c < 4; c++)
            UNROLL for (int v = 0; v < UNIT; v += RUN) {
                run some = {};
                int there = inside && j + v >= 0 && j + v < WIDTH && channel + c < CHANNELS;
                if (there && has_unit(unit, turn))
                    some = *(const run*)(corner + (c * PLANE + down * WIDTH + v));
                *(run*)((given*)pixels->of[turn][c] + v) = some;
            }
    }
}

// Windows that meet a unit.
#define MEETING ((CHUNKS - 1) / APART + 2 / APART)
struct places { unsigned of[MEETING]; };

// Offsets from window 0 of their row of the windows that meet a unit; NOWHERE for missing ones.
__device__ __forceinline__ struct places places_of(int at)
{
    struct places places;
    UNROLL for (int m = 0; m < MEETING; m++) {
        unsigned w = 2 / APART * (at + 1) - 1 - m;
        places.of[m] = w / 4 * PLANE_BYTES + w % 4 * WINDOW_BYTES;
        if (w >= 4 * ACROSS) places.of[m] = NOWHERE;
        // The compiler would compute it anew for each store.
        asm volatile("" : "+r"(places.of[m]));
    }
    return places;
}

// Lays a chunk to the windows that meet it, in both rows of a pair; `line` is where it would lie as
// chunk 0 of window 0, in the second one.  Of eight lanes four begin with the second row: so all have
// banks of their own.
__device__ __forceinline__ void lay_chunk(char* line, const struct places* places, int chunk, int second,
                                          uint4 value)
{
    UNROLL for (int d = chunk % APART; d < CHUNKS; d += APART) {
        unsigned place = places->of[d / APART + (1 - chunk) / APART];
        if (place == NOWHERE) continue;
        UNROLL for (int k = 0; k < 2; k++) {
            int row = (k ^ second) ? 0 : ROW_BYTES - LINE_BYTES;
            *(uint4*)(line + place + d * PIECE_BYTES + row) = value;
        }
    }
}

// Lays a thread's units to a stage.
__device__ __forceinline__ void lay_pixels(const struct pixels* pixels, float scale, char* stage)
{
    struct unit unit = own_unit();
    struct places places = places_of(unit.at);
    char* line = stage + (unit.row * ROW_BYTES + LINE_BYTES);
    int second = unit.at / (2 * APART) % 2;
    UNROLL for (int turn = 0; turn < TASKS; turn++) {
        if (!has_unit(unit, turn)) continue;
        const unsigned(*given)[UNIT_WORDS] = pixels->of[turn];
        UNROLL for (int v = 0; v < UNIT; v += 2) {
            uint4 value = make_uint4(
                BOTH_PIXELS(given[0], given[1], v, scale), BOTH_PIXELS(given[2], given[3], v, scale),
                BOTH_PIXELS(given[0], given[1], v + 1, scale),
                BOTH_PIXELS(given[2], given[3], v + 1, scale));
            lay_chunk(line + turn * TURN_ROWS * ROW_BYTES, &places, v / 2, second, value);
        }
    }
}
