// Vectors of up to 16 bytes, where every row begins at a multiple of them; else VECTOR is 1.

#pragma once
#include "common/operator.h"

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

#if BYTES_SUMMED
// `sum` and the four bytes of a word.
__device__ __forceinline__ unsigned with_bytes(unsigned word, unsigned sum)
{
#ifdef __OPENCL_VERSION__
    unsigned pairs = (word & 0x00ff00ff) + ((word >> 8) & 0x00ff00ff);
    return sum + (pairs & 0xffff) + (pairs >> 16);
#else
    return __dp4a(word, 0x01010101u, sum);
#endif
}
#endif

// Joins the first elements with those `reach` behind them.
#define JOIN_HALVES(own, reach)                                                          \
    UNROLL                                                                               \
    for (int e = 0; e < reach; e++)                                                      \
        if (e + reach < VECTOR) own[e] = combined(own[e], own[e + reach]);

// The elements of a vector combined.
__device__ __forceinline__ carried of_vector(vector loaded)
{
#if BYTES_SUMMED && VECTOR == 16
    unsigned sum = with_bytes(loaded.x, with_bytes(loaded.y, 0));
    return with_bytes(loaded.z, with_bytes(loaded.w, sum));
#else
    carried own[VECTOR];
    UNROLL
    for (int e = 0; e < VECTOR; e++) own[e] = piece(loaded, e);
    JOIN_HALVES(own, 8)
    JOIN_HALVES(own, 4)
    JOIN_HALVES(own, 2)
    JOIN_HALVES(own, 1)
    return own[0];
#endif
}
