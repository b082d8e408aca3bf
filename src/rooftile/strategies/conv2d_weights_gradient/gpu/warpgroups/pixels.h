// An image's pixels on their way from memory through registers to a stage of shared memory, where
// they lie as products read them: once for each window of a row that meets them.
//
// A stage is [planes][TILE_ROWS][CHUNKS] pieces of 128 bytes.  A chunk is two pixels beside each
// other of four channels.  In 16 bits a plane has eight windows of a row, and a piece is [8 windows]
// [2 pixels][4 channels]; in TF32, whose matrices cannot be transposed, it has four windows, and a
// piece is [2 pixels][4 channels][4 windows].  Chunk d of a window begins 2 d pixels from its corner.

#pragma once

#include "common/formats.h"

#define PLANE (HEIGHT * WIDTH)
// Pixels of a unit, which a thread brings of one channel in TF32, else of four.
#define UNIT 4
#define UNIT_WORDS (UNIT * (X_NARROW ? 2 : 4) / 4)
// Chunks from a window's corner to the next one's.
#define APART (WINDOW_WIDTH / 2)
#define PIECE_BYTES 128
#if CORES == TF32
#define UNIT_CHANNELS 1
#define PLANE_WINDOWS 4
#else
#define UNIT_CHANNELS 4
#define PLANE_WINDOWS 8
#endif
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

// A unit: its row of the tile, its place in the row, and its first channel of the block's.
struct unit { int row, at, channel; };
struct pixels { unsigned of[TASKS][UNIT_CHANNELS][UNIT_WORDS]; };

// A thread's unit.  In TF32 lanes stand in four places, channels and two rows, whose numbers have
// banks of their own.
__device__ __forceinline__ struct unit unit_of(int task)
{
    struct unit unit;
    int thread = task * THREADS + threadIdx.x, at = thread;
#if CORES == TF32
    at = thread / 32 * 4 + thread % 4;
    unit.row = at / UNITS * 2 + thread / 16 % 2, unit.channel = thread / 4 % 4;
#else
    unit.row = at / UNITS, unit.channel = 0;
#endif
    unit.at = at % UNITS;
    return unit;
}

// Asks for a thread's pixels of an image; zeros around it.
__device__ __forceinline__ void ask_for_pixels(const given* x, int n, struct pixels* pixels)
{
    UNROLL for (int task = 0; task < TASKS; task++) {
        struct unit unit = unit_of(task);
        int i = unit.row - PAD_Y, j = UNIT * unit.at - PAD_X;
        UNROLL for (int c = 0; c < UNIT_CHANNELS; c++) {
            int channel = blockIdx.y * 4 + unit.channel + c;
            int there = unit.row < TILE_ROWS && i >= 0 && i < HEIGHT && channel < CHANNELS;
            const given* row = x + ((int64)n * CHANNELS + channel) * PLANE + i * WIDTH + j;
            UNROLL for (int v = 0; v < UNIT; v += RUN) {
                run some = {};
                if (there && j + v >= 0 && j + v < WIDTH) some = *(const run*)(row + v);
                *(run*)((given*)pixels->of[task][c] + v) = some;
            }
        }
    }
}

#if CORES == TF32
// Lays a unit's chunk to the windows that meet it.  Lanes of odd rows do the second pixel first.
__device__ __forceinline__ void lay_chunk(char* stage, struct unit unit, int chunk,
                                          const unsigned (*number)[UNIT_WORDS])
{
    int odd = threadIdx.x / 16 % 2;
    UNROLL for (int v = 0; v < 2; v++) {
        float value = __uint_as_float(number[0][2 * chunk + v]);
        float beside = __uint_as_float(number[0][2 * chunk + 1 - v]);
        float rounded = tf32(odd ? beside : value);
        char* line = stage + ((v ^ odd) * 4 + unit.channel) * 16;
        UNROLL for (int d = chunk % APART; d < CHUNKS; d += APART) {
            int w = (2 * unit.at + chunk) / APART - d / APART;
            if (w < 0 || w >= 8 * ACROSS) continue;
            int piece = (w / 4 * TILE_ROWS + unit.row) * CHUNKS + d;
            *(float*)(line + piece * PIECE_BYTES + w % 4 * 4) = rounded;
        }
    }
}
#else
// Two channels' numbers of a pixel.
#if X_NARROW
#define BOTH(one, other, v)                                                                     \
    ((v) % 2 ? (one)[(v) / 2] >> 16 | ((other)[(v) / 2] & 0xffff0000)                           \
             : ((one)[(v) / 2] & 0xffff) | (other)[(v) / 2] << 16)
#else
#define BOTH(one, other, v) pack(__uint_as_float((one)[v]), __uint_as_float((other)[v]))
#endif

// Lays a unit's chunk to the windows that meet it.
__device__ __forceinline__ void lay_chunk(char* stage, struct unit unit, int chunk,
                                          const unsigned (*number)[UNIT_WORDS])
{
    int v = 2 * chunk;
    uint4 all = make_uint4(BOTH(number[0], number[1], v), BOTH(number[2], number[3], v),
                           BOTH(number[0], number[1], v + 1), BOTH(number[2], number[3], v + 1));
    UNROLL for (int d = chunk % APART; d < CHUNKS; d += APART) {
        int w = (2 * unit.at + chunk) / APART - d / APART;
        if (w < 0 || w >= 8 * ACROSS) continue;
        int piece = (w / 8 * TILE_ROWS + unit.row) * CHUNKS + d;
        *(uint4*)(stage + piece * PIECE_BYTES + w % 8 * 16) = all;
    }
}
#endif

// Lays what a thread has asked for to a stage.
__device__ __forceinline__ void lay_pixels(const struct pixels* pixels, char* stage)
{
    UNROLL for (int task = 0; task < TASKS; task++) {
        struct unit unit = unit_of(task);
        if (unit.row >= TILE_ROWS) continue;
        UNROLL for (int chunk = 0; chunk < 2; chunk++)
            lay_chunk(stage, unit, chunk, pixels->of[task]);
    }
}
