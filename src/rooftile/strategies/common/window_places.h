// Winners of windows that tile the image, for texts in which a warp takes them one after another and
// keeps what it adds in registers: a winner's place in its window is the same for all lanes, so that
// a jump picks the registers.
//
// A warp has WARP_MAPS of the maps, a block all of them, or some more whose gradients are zeros.

#pragma once

#include "common/places.h"

#ifdef __OPENCL_VERSION__
#define FLOAT_BITS(value) as_int(value)
#else
#define FLOAT_BITS(value) __float_as_int(value)
#endif

#define WARP_MAPS ((MAPS + WARPS - 1) / WARPS)
#define HELD (WARPS * WARP_MAPS * GRADIENTS)
#define ROW_OF(place) ((place) / WINDOW_WIDTH % WINDOW_HEIGHT)
#define COLUMN_OF(place) ((place) % WINDOW_WIDTH)

// Does what stands for a place, of up to sixteen.
#define AT_PLACE(place, DO)                                                                     \
    switch (place) {                                                                            \
        case 0: DO(0) break; case 1: DO(1) break; case 2: DO(2) break; case 3: DO(3) break;     \
        case 4: DO(4) break; case 5: DO(5) break; case 6: DO(6) break; case 7: DO(7) break;     \
        case 8: DO(8) break; case 9: DO(9) break; case 10: DO(10) break; case 11: DO(11) break; \
        case 12: DO(12) break; case 13: DO(13) break; case 14: DO(14) break;                    \
        case 15: DO(15) break;                                                                  \
    }

// Puts an image's gradients, as bits, and their places in their windows into shared memory.
__device__ __forceinline__ void hold_winners(const GLOBAL float* dy, const GLOBAL int* where, int64 n,
                                             SHARED int2* held)
{
    for (int at = threadIdx.x; at < HELD; at += 32 * WARPS) {
        int e = at % GRADIENTS, there = at < MAPS * GRADIENTS;
        int64 number = n * MAPS * GRADIENTS + (there ? at : 0);
        int place = where[number];
        int i = place / CONV_COLUMNS - e / COLUMNS * WINDOW_HEIGHT;
        int j = place % CONV_COLUMNS - e % COLUMNS * WINDOW_WIDTH;
        int2 one;
        one.x = there ? FLOAT_BITS(dy[number]) : 0;
        one.y = there ? i * WINDOW_WIDTH + j : 0;
        held[at] = one;
    }
}
