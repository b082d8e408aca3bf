// An image's pixels on their way from memory through registers to a stage of shared memory, where
// they lie as products read them: once for each window of a row that meets them.
//
// A stage is [planes][TILE_ROWS][CHUNKS] pieces of 128 bytes.  A chunk is two pixels beside each
// other of four channels.  In 16 bits a plane has eight windows of a row, and a piece is
// [8 windows][2 pixels][4 channels]; in TF32, whose matrices cannot be transposed, it has four
// windows, and a piece is [2 pixels][4 channels][4 windows].  Chunk d of a window begins 2 d pixels
// from its corner.

#pragma once

#include "common/formats.h"

#define PLANE (HEIGHT * WIDTH)
// Pixels of a unit: in TF32 of one channel, else of four.
#define UNIT 4
#define UNIT_WORDS (UNIT * (X_NARROW ? 2 : 4) / 4)
// Chunks from a window's corner to the next one's.
#define APART (WINDOW_WIDTH / 2)
#define PIECE_BYTES 128
#define ROW_BYTES (CHUNKS * PIECE_BYTES)
#define PLANE_BYTES (TILE_ROWS * ROW_BYTES)
#if CORES == TF32
#define UNIT_CHANNELS 1
#define PLANE_WINDOWS 4
#else
#define UNIT_CHANNELS 4
#define PLANE_WINDOWS 8
#endif
// Where a window lies.
#define PLANES (8 * ACROSS / PLANE_WINDOWS)
#define PLANE_OF(w) (PLANES == 1 ? 0 : (w) / PLANE_WINDOWS)
#define IN_PLANE(w) (PLANES == 1 ? (w) : (w) % PLANE_WINDOWS)
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
#if CORES == TF32
#define TURN_ROWS (THREADS / 8 / UNITS * 2)
#else
#define TURN_ROWS (THREADS / UNITS)
#endif

// A thread's first unit: its row of the tile, its place in the row, and its first channel of the
// block's.  The others stand below it, so that their addresses differ by constants.
struct unit { int row, at, channel; };
struct pixels { unsigned of[TASKS][UNIT_CHANNELS][UNIT_WORDS]; };

// In TF32 lanes stand in four places, channels and two rows, whose numbers have banks of their own.
__device__ __forceinline__ struct unit own_unit(void)
{
    struct unit unit;
    int thread = threadIdx.x;
#if CORES == TF32
    int slot = thread / 32 * 4 + thread % 4;
    unit.row = slot / UNITS * 2 + thread / 16 % 2, unit.channel = thread / 4 % 4;
#else
    int slot = thread;
    unit.row = slot / UNITS, unit.channel = 0;
#endif
    unit.at = slot % UNITS;
    return unit;
}

// Whether a thread has a unit of a turn: what is left over of threads has none.
__device__ __forceinline__ int has_unit(struct unit unit, int turn)
{
    int there = unit.row < TURN_ROWS;
    // What no problem of these sizes lacks is not asked for.
    int all = (turn + 1) * TURN_ROWS <= TILE_ROWS;
    return there && (all || unit.row < TILE_ROWS - turn * TURN_ROWS);
}

// Asks for a thread's pixels of an image; zeros around it.
__device__ __forceinline__ void ask_for_pixels(const given* x, int n, struct pixels* pixels)
{
    struct unit unit = own_unit();
    int i = unit.row - PAD_Y, j = UNIT * unit.at - PAD_X, channel = blockIdx.y * 4 + unit.channel;
    const given* corner = x + ((int64)n * CHANNELS + channel) * PLANE + (i * WIDTH + j);
    UNROLL for (int turn = 0; turn < TASKS; turn++) {
        int down = turn * TURN_ROWS, inside = i + down >= 0 && i + down < HEIGHT;
        UNROLL for (int c = 0; c < UNIT_CHANNELS; c++)
            UNROLL for (int v = 0; v < UNIT; v += RUN) {
                run some = {};
                int there = inside && j + v >= 0 && j + v < WIDTH && channel + c < CHANNELS;
                if (there && has_unit(unit, turn))
                    some = *(const run*)(corner + (c * PLANE + down * WIDTH + v));
                *(run*)((given*)pixels->of[turn][c] + v) = some;
            }
    }
}

// What lies together of a window: in TF32 a number, else two pixels of four channels.
#if CORES == TF32
typedef float laid;
#else
typedef uint4 laid;
#endif
// Windows that meet a unit.
#define MEETING ((CHUNKS - 1) / APART + 2 / APART)
struct places { unsigned of[MEETING]; };

// How far behind window 0 of their row those that meet a unit lie; NOWHERE for those that are not
// there.
__device__ __forceinline__ struct places places_of(int at)
{
    struct places places;
    UNROLL for (int m = 0; m < MEETING; m++) {
        unsigned w = 2 / APART * (at + 1) - 1 - m;
        places.of[m] = PLANE_OF(w) * PLANE_BYTES + IN_PLANE(w) * (int)sizeof(laid);
        if (w >= 8 * ACROSS) places.of[m] = NOWHERE;
        // The compiler would compute it anew for each store.
        asm volatile("" : "+r"(places.of[m]));
    }
    return places;
}

// Lays a chunk to the windows that meet it: in TF32 a number of it.  `line` is where it would lie
// as chunk 0 of window 0.
__device__ __forceinline__ void lay_chunk(char* line, const struct places* places, int chunk,
                                          laid value)
{
    UNROLL for (int d = chunk % APART; d < CHUNKS; d += APART) {
        unsigned place = places->of[d / APART + (1 - chunk) / APART];
        if (place != NOWHERE) *(laid*)(line + place + d * PIECE_BYTES) = value;
    }
}

// Two channels' numbers of a pixel.
#if X_NARROW
#define BOTH(one, other, v)                                                                     \
    ((v) % 2 ? (one)[(v) / 2] >> 16 | ((other)[(v) / 2] & 0xffff0000)                           \
             : ((one)[(v) / 2] & 0xffff) | (other)[(v) / 2] << 16)
#else
#define BOTH(one, other, v) pack(__uint_as_float((one)[v]), __uint_as_float((other)[v]))
#endif

// Lays a thread's units to a stage.
__device__ __forceinline__ void lay_pixels(const struct pixels* pixels, char* stage)
{
    struct unit unit = own_unit();
    struct places places = places_of(unit.at);
    char* line = stage + (unit.row * ROW_BYTES + unit.channel * 16);
    UNROLL for (int turn = 0; turn < TASKS; turn++) {
        if (!has_unit(unit, turn)) continue;
        const unsigned(*number)[UNIT_WORDS] = pixels->of[turn];
        char* below = line + turn * TURN_ROWS * ROW_BYTES;
#if CORES == TF32
        // Lanes of odd rows lay a chunk's second pixel first.
        int odd = unit.row % 2;
        UNROLL for (int v = 0; v < UNIT; v++) {
            float own = __uint_as_float(number[0][v]), other = __uint_as_float(number[0][v ^ 1]);
            char* pixel = below + (v % 2 ^ odd) * 64;
            lay_chunk(pixel, &places, v / 2, tf32(odd ? other : own));
        }
#else
        UNROLL for (int v = 0; v < UNIT; v += 2) {
            laid both = {BOTH(number[0], number[1], v), BOTH(number[2], number[3], v),
                         BOTH(number[0], number[1], v + 1), BOTH(number[2], number[3], v + 1)};
            lay_chunk(below, &places, v / 2, both);
        }
#endif
    }
}
