// An image's gradients and the places of its winners, in shared memory, and how large all is.

#pragma once

#include "common/gradient_number.h"
#include "common/places.h"

// Windows of a product, across and down.
#define TILE 8
#define POSITIONS (WINDOW_HEIGHT * WINDOW_WIDTH)
// Maps of a group, which a product takes together.
#define GROUP 16
#define GROUPS ((MAPS + GROUP - 1) / GROUP)
// Rows and, in pairs, columns of pixels that a window reaches.
#define LINES (WINDOW_HEIGHT + MASK_HEIGHT - 1)
#define PAIRS (SIDE / 2)

// given[MAPS][GIVEN_PITCH] of gradients, then [MAPS][PLACES_PITCH] of places: the pitches put those
// that lanes read together into banks of their own.  Whole lines of 16 bytes are copied where maps
// have such.
#define PLACES_OF(given) ((winner_place*)((given) + MAPS * GIVEN_PITCH))
#if GRADIENTS % 16 == 0
typedef uint4 gradients_piece, places_piece;
#else
typedef gradient_number gradients_piece;
typedef winner_place places_piece;
#endif

// Copies what a map has of `bytes` to lines of `pitch` bytes, or zeros.
#define BRING(piece, to, from, bytes, pitch, there)                                         \
    for (int at = threadIdx.x % 128; at < MAPS * (bytes) / (int)sizeof(piece); at += 128) { \
        int each = (bytes) / (int)sizeof(piece);                                            \
        piece* held = (piece*)((char*)(to) + at / each * (pitch)) + at % each;              \
        if (!(there)) *held = piece();                                                      \
        else if (sizeof(piece) == 16) COPY_ASYNC(piece, held, (const piece*)(from) + at);   \
        else *held = ((const piece*)(from))[at];                                            \
    }

// Starts to bring an image's gradients and places; zeros in place of an image that is not there.
__device__ __forceinline__ void start(const gradient_number* dy, const winner_place* where,
                                      gradient_number* given, int n, int images)
{
    const int size = sizeof(gradient_number), wide = sizeof(winner_place);
    int64 first = (int64)n * MAPS * GRADIENTS;
    BRING(gradients_piece, given, dy + first, GRADIENTS * size, GIVEN_PITCH * size, n < images)
    BRING(places_piece, PLACES_OF(given), where + first, GRADIENTS * wide, PLACES_PITCH * wide,
          n < images)
}

// The position of a window's winner, POSITIONS or more where there is none.
__device__ __forceinline__ unsigned position_of(winner_place place, int e)
{
#if WHERE_NARROW
    return place;
#else
    spot won = spot_of(place, e);
    return (won.row - e / COLUMNS * WINDOW_HEIGHT) * WINDOW_WIDTH + won.column -
           e % COLUMNS * WINDOW_WIDTH;
#endif
}
