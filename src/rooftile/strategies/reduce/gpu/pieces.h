// Vectors of up to 16 bytes, where every row begins at a multiple of them; else VECTOR is 1.

#pragma once
#include "reduce.h"

#if VECTOR == 1
typedef given vector;
#elif VECTOR * GIVEN_BYTES == 8
typedef uint2 vector;
#define WORD(loaded, e) ((e) < 4 ? loaded.x : loaded.y)
#else
typedef uint4 vector;
#define WORD(loaded, e) ((e) < 4 ? loaded.x : (e) < 8 ? loaded.y : (e) < 12 ? loaded.z : loaded.w)
#endif

union pieces {
    vector whole;
    given parts[VECTOR];
};

// An element of a vector.
__device__ __forceinline__ carried piece(vector loaded, int e)
{
#if GIVEN_BYTES == 1 && VECTOR > 1
    // Bytes are shifted out of words: an array of them would lie in memory.
    return taken((given)(WORD(loaded, e) >> e % 4 * 8));
#else
    union pieces both;
    both.whole = loaded;
    return taken(both.parts[e]);
#endif
}
