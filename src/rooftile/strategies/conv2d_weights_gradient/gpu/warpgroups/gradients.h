// An image's gradients and their argmax positions on their way from memory through registers to a
// stage of shared memory, in the order in which lanes hold the left matrix of a product.
//
// A stage is [STEPS][TILES][32 lanes][4 words], then the lanes' places, of two words. A step's
// windows are four by four, and a word has two adjacent ones. A lane has two maps of a tile of 16,
// and WINDOWS windows of each.
//
// A pair of rows of positions is one product's. A gradient with its argmax in a column of a pair is
// a number of the left matrix. Of four terms two are of one window, which has one argmax, and two
// of the next: the `terms` say which term each number is.

#pragma once

#include "conv2d_weights_gradient/gpu/warpgroups/numbers.h"
#include "conv2d_weights_gradient/gpu/warpgroups/threads.h"

// Tiles of a block's maps, and the map whose gradients a thread brings.
#define TILES (TILE_MAPS / 16)
#define OWN_MAP ((int)threadIdx.x / 4 % TILE_MAPS)
#define WINDOWS 4
#define PORTIONS (STEPS * TILES * 2)
// The gradients that a thread loads: its warp has always the same maps.
#define TURNS ((PORTIONS + WARPS - 1) / WARPS)
#define WORDS_BYTES (STEPS * TILES * 32 * 16)
// The row and the column of a lane's window of a step.
#define WINDOW_ROW(step, lane, k) ((step) % DOWN * 4 + (lane) % 4 / 2 + (k) / 2 * 2)
#define WINDOW_COLUMN(step, lane, k) ((step) / DOWN * 4 + (lane) % 2 * 2 + (k) % 2)
// Gradients that a thread reads at a time.
#define BESIDE (2 - COLUMNS % 2)
// They stay as they come until they are laid: to take them apart would wait for them.
#if BESIDE == 1
typedef gradient_number gradients_beside;
#define GRADIENT_OF(some, u) (some)
#elif DY_NARROW
typedef unsigned gradients_beside;
#define GRADIENT_OF(some, u) ((gradient_number)((some) >> 16 * (u)))
#else
typedef float2 gradients_beside;
#define GRADIENT_OF(some, u) ((u) ? (some).y : (some).x)
#endif
#if BESIDE == 1
typedef winner_place places_beside;
#define PLACE_OF(won, u) (won)
#elif WHERE_NARROW
typedef unsigned short places_beside;
#define PLACE_OF(won, u) ((winner_place)((won) >> 8 * (u)))
#else
typedef uint2 places_beside;
#define PLACE_OF(won, u) ((winner_place)((u) ? (won).y : (won).x))
#endif

struct gradients {
    gradients_beside of[TURNS][WINDOWS / BESIDE];
    places_beside place[TURNS][WINDOWS / BESIDE];
};
#define GRADIENT_AT(all, turn, k) GRADIENT_OF((all)->of[turn][(k) / BESIDE], (k) % BESIDE)
#define PLACE_AT(all, turn, k) PLACE_OF((all)->place[turn][(k) / BESIDE], (k) % BESIDE)
#define WINNER_AT(all, turn, k) OF_WINNER(GRADIENT_AT(all, turn, k), PLACE_AT(all, turn, k))

// The position of an argmax in its window.
__device__ __forceinline__ unsigned position_of(winner_place place, int r, int c)
{
#if WHERE_NARROW
    return place;
#else
    int from = place - (r * WINDOW_HEIGHT * CONV_COLUMNS + c * WINDOW_WIDTH);
    return from / CONV_COLUMNS * WINDOW_WIDTH + from % CONV_COLUMNS;
#endif
}

// A lane's words of the left matrix: of winners, and what says which terms these are.
#define LEFT_WORDS 5

// The step that a thread brings in a turn.
#define STEP_OF(turn) (((int)threadIdx.x / 32 + (turn) * WARPS) / (2 * TILES))

// Asks for a thread's gradients of an image; zeros where there is no window.
__device__ __forceinline__ void ask_for_gradients(const gradient_number* dy,
                                                  const winner_place* where, int n,
                                                  struct gradients* gradients)
{
    int lane = threadIdx.x % 32, map = MAP_GROUP * TILE_MAPS + OWN_MAP;
    int64 image = (int64)n * (MAPS * GRADIENTS);
    UNROLL for (int turn = 0; turn < TURNS; turn++) {
        int step = STEP_OF(turn);
        UNROLL for (int k = 0; k < WINDOWS; k += BESIDE) {
            int r = WINDOW_ROW(step, lane, k), c = WINDOW_COLUMN(step, lane, k);
            gradients_beside some = {};
            places_beside won = {};
            // Parts that every problem of these sizes has are not tested for.
            if ((PORTIONS % WARPS == 0 || step < STEPS) && (ROWS % 4 == 0 || r < ROWS)
                && (COLUMNS % 4 == 0 || c < COLUMNS) && (MAPS % TILE_MAPS == 0 || map < MAPS)) {
                int at = map * GRADIENTS + r * COLUMNS + c;
                some = *(const gradients_beside*)(dy + image + at);
                won = *(const places_beside*)(where + image + at);
            }
            gradients->of[turn][k / BESIDE] = some, gradients->place[turn][k / BESIDE] = won;
        }
    }
}

// The argmax positions of a lane's windows: in four bits of each the pair of rows and the column,
// and its term of the window's two.
struct found { unsigned columns, terms; };

__device__ __forceinline__ struct found found_of(const struct gradients* gradients, int turn)
{
    struct found found = {0, 0};
    int lane = thread_anew() % 32, step = STEP_OF(turn);
    UNROLL for (int k = 0; k < WINDOWS; k++) {
        int r = WINDOW_ROW(step, lane, k), c = WINDOW_COLUMN(step, lane, k);
        unsigned position = position_of(PLACE_AT(gradients, turn, k), r, c) & 15;
        unsigned row = position / WINDOW_WIDTH;
        found.columns |= (row / 2 * WINDOW_WIDTH + position % WINDOW_WIDTH) << 4 * k;
        // Four bits for two windows: the first eight windows' below the last eight's.
        found.terms |= row % 2 << 16 * (k / 2) + 2 * (k % 2);
    }
    // Four lanes have the windows of a map.
    found.terms <<= lane % 4 * 4;
    found.terms |= __shfl_xor_sync(~0u, found.terms, 1);
    found.terms |= __shfl_xor_sync(~0u, found.terms, 2);
    return found;
}

// Lays what a thread has asked for to a stage.
__device__ __forceinline__ void lay_gradients(const struct gradients* gradients, float scale,
                                              char* stage)
{
    int lane = threadIdx.x % 32, half = threadIdx.x / 32 % 2;
    UNROLL for (int turn = 0; turn < TURNS; turn++) {
        int step = STEP_OF(turn);
        if (PORTIONS % WARPS > 0 && step >= STEPS) continue;
        int at = (step * TILES + OWN_MAP / 16) * 32 + lane;
        UNROLL for (int k = 0; k < WINDOWS; k += 2)
            ((unsigned*)stage)[at * 4 + k + half] = BOTH_GRADIENTS(
                WINNER_AT(gradients, turn, k), WINNER_AT(gradients, turn, k + 1), scale);
        struct found found = found_of(gradients, turn);
        unsigned short* told = (unsigned short*)(stage + WORDS_BYTES) + at * 4;
        told[half] = found.columns;
        told[2 + half] = found.terms >> lane % 2 * 16;
    }
}

// Their part of the bias.
__device__ __forceinline__ float sum_of(const struct gradients* gradients)
{
    float sum = 0.0f;
    UNROLL for (int turn = 0; turn < TURNS; turn++)
        UNROLL for (int k = 0; k < WINDOWS; k++)
            sum += ROUND(WIDE_GRADIENT(WINNER_AT(gradients, turn, k)));
    return sum;
}

// A lane's words of a step as they lie: of all winners, and where these stand.
struct words { uint4 all; uint2 places; };

__device__ __forceinline__ struct words words_of(const char* stage, int step, int tile)
{
    int at = (step * TILES + tile) * 32 + threadIdx.x % 32;
    struct words words;
    words.all = ((const uint4*)stage)[at];
    words.places = ((const uint2*)(stage + WORDS_BYTES))[at];
    return words;
}

// Keeps gradients of those winners that stand in one column of a pair of rows, and has zeros in place of
// others.  The last word says which terms they are: of every four one of the first two, and one of the
// others.
__device__ __forceinline__ void winners(struct words words, unsigned column, unsigned word[LEFT_WORDS])
{
    unsigned apart = words.places.x ^ column * 0x11111111u;
    word[0] = words.all.x, word[1] = words.all.y, word[2] = words.all.z, word[3] = words.all.w;
    UNROLL for (int e = 0; e < 4; e++) {
        unsigned kept = 0;
        UNROLL for (int u = 0; u < 2; u++) {
            int window = e % 2 * WINDOWS + e / 2 * 2 + u;
            if (!(apart & 15u << 4 * window)) kept |= 0xffffu << 16 * u;
        }
        word[e] &= kept;
    }
    word[4] = words.places.y | 0x88888888u;
}
