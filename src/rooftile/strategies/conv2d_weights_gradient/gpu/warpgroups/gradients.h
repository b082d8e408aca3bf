// An image's gradients and the positions of their winners on their way from memory through
// registers to a stage of shared memory, where they lie as lanes hold the left matrix of a product.
//
// A stage is [STEPS][TILES][32 lanes][4 words], then the lanes' positions, four bits of each
// window.  A step's terms are eight windows of a row; in 16 bits also those of the row below.  A
// lane has two maps of a tile of 16, and WINDOWS windows of each.

#pragma once

// Tiles of a block's maps.
#define TILES (TILE_MAPS / 16)
#define WINDOWS (2 * WORD_WINDOWS)
#define PORTIONS (STEPS * TILES * 2)
// Those that a thread brings: its warp has always the same maps.
#define TURNS ((PORTIONS + WARPS - 1) / WARPS)
#define WORDS_BYTES (STEPS * TILES * 32 * 16)
#if CORES == TF32
typedef unsigned char half_positions;
typedef unsigned short positions;
#define ROW_OF_WINDOW(k) 0
#define COLUMN_OF_WINDOW(lane, k) ((lane) % 4 + 4 * (k))
#define BESIDE 1
#else
typedef unsigned short half_positions;
typedef unsigned positions;
#define ROW_OF_WINDOW(k) ((k) / 2)
#define COLUMN_OF_WINDOW(lane, k) ((lane) % 4 * 2 + (k) % 2)
// Gradients that a thread reads at a time.
#define BESIDE (2 - COLUMNS % 2)
#endif
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

// Where a winner stands in its window.
__device__ __forceinline__ unsigned position_of(winner_place place, int r, int c)
{
#if WHERE_NARROW
    return place;
#else
    int from = place - (r * WINDOW_HEIGHT * CONV_COLUMNS + c * WINDOW_WIDTH);
    return from / CONV_COLUMNS * WINDOW_WIDTH + from % CONV_COLUMNS;
#endif
}

// The map whose gradients a thread brings.
__device__ __forceinline__ int own_map(void)
{
    int warp = threadIdx.x / 32;
    return warp / 2 % TILES * 16 + warp % 2 * 8 + threadIdx.x % 32 / 4;
}

// The step that it brings in a turn; the first row and column of the step's windows.
#define STEP_OF(turn) (((int)threadIdx.x / 32 + (turn) * WARPS) / (2 * TILES))
#define ROW_OF_STEP(step) ((step) % DOWN * WORD_WINDOWS)
#define COLUMN_OF_STEP(step) ((step) / DOWN * 8)

// Asks for a thread's gradients of an image; zeros where there is no window.
__device__ __forceinline__ void ask_for_gradients(const gradient_number* dy,
                                                  const winner_place* where, int n,
                                                  struct gradients* gradients)
{
    int lane = threadIdx.x % 32, map = MAP_GROUP * TILE_MAPS + own_map();
    int64 image = (int64)n * (MAPS * GRADIENTS);
    UNROLL for (int turn = 0; turn < TURNS; turn++) {
        int step = STEP_OF(turn);
        UNROLL for (int k = 0; k < WINDOWS; k += BESIDE) {
            int r = ROW_OF_STEP(step) + ROW_OF_WINDOW(k);
            int c = COLUMN_OF_STEP(step) + COLUMN_OF_WINDOW(lane, k);
            gradients_beside some = {};
            places_beside won = {};
            // What no problem of these sizes lacks is not asked for.
            if ((PORTIONS % WARPS == 0 || step < STEPS) && (ROWS % WORD_WINDOWS == 0 || r < ROWS)
                && (COLUMNS % 8 == 0 || c < COLUMNS) && (MAPS % TILE_MAPS == 0 || map < MAPS)) {
                int at = map * GRADIENTS + r * COLUMNS + c;
                some = *(const gradients_beside*)(dy + image + at);
                won = *(const places_beside*)(where + image + at);
            }
            gradients->of[turn][k / BESIDE] = some, gradients->place[turn][k / BESIDE] = won;
        }
    }
}

// Lays what a thread has asked for to a stage.
__device__ __forceinline__ void lay_gradients(const struct gradients* gradients, char* stage)
{
    int lane = threadIdx.x % 32, half = threadIdx.x / 32 % 2;
    UNROLL for (int turn = 0; turn < TURNS; turn++) {
        int step = STEP_OF(turn);
        if (PORTIONS % WARPS > 0 && step >= STEPS) continue;
        int at = (step * TILES + own_map() / 16) * 32 + lane;
        unsigned found = 0;
        UNROLL for (int k = 0; k < WINDOWS; k++) {
            int r = ROW_OF_STEP(step) + ROW_OF_WINDOW(k);
            int c = COLUMN_OF_STEP(step) + COLUMN_OF_WINDOW(lane, k);
            found |= (position_of(PLACE_AT(gradients, turn, k), r, c) & 15) << 4 * k;
        }
        UNROLL for (int k = 0; k < 2; k++)
            ((unsigned*)stage)[at * 4 + 2 * k + half] =
                GRADIENTS_WORD(WINNER_AT(gradients, turn, k * WORD_WINDOWS),
                               WINNER_AT(gradients, turn, (k + 1) * WORD_WINDOWS - 1));
        ((half_positions*)(stage + WORDS_BYTES))[2 * at + half] = (half_positions)found;
    }
}

// What they add to the bias.
__device__ __forceinline__ float sum_of(const struct gradients* gradients)
{
    float sum = 0.0f;
    UNROLL for (int turn = 0; turn < TURNS; turn++)
        UNROLL for (int k = 0; k < WINDOWS; k++)
            sum += ROUND(WIDE_GRADIENT(WINNER_AT(gradients, turn, k)));
    return sum;
}

// A lane's words of a step as they lie: of all winners, and where these stand.
struct words { uint4 all; unsigned found; };

__device__ __forceinline__ struct words words_of(const char* stage, int step, int tile)
{
    int at = (step * TILES + tile) * 32 + threadIdx.x % 32;
    struct words words;
    words.all = ((const uint4*)stage)[at];
    words.found = ((const positions*)(stage + WORDS_BYTES))[at];
    return words;
}

// Keeps gradients of those winners that stand in one position, and has zeros in place of others.
__device__ __forceinline__ void winners(struct words words, unsigned position, unsigned word[4])
{
    unsigned apart = words.found ^ position * 0x11111111u;
    word[0] = words.all.x, word[1] = words.all.y, word[2] = words.all.z, word[3] = words.all.w;
    UNROLL for (int e = 0; e < 4; e++) {
        unsigned kept = 0;
        UNROLL for (int u = 0; u < WORD_WINDOWS; u++) {
            int window = e % 2 * WINDOWS + e / 2 * WORD_WINDOWS + u;
            if (!(apart & 15u << 4 * window)) kept |= (~0u >> 32 - 32 / WORD_WINDOWS) << 16 * u;
        }
        word[e] &= kept;
    }
}
