// Common parts of sort's texts: keys, which are unsigned integers in the order of the elements, and
// the indices of a line's elements.
//
// A line is sorted together: `count` elements, `inner` apart; where that is 1, BESIDE saves
// divisions. Between two launches its keys are adjacent. With each key moves, unless VALUES alone
// are asked for, an `along` of 32 bits: the element's place in its line, or for PAIRS its partner.

#pragma once

#define VALUES 0
#define PLACES 1
#define PAIRS 2

#if BYTES == 1
typedef unsigned char key;
#elif BYTES == 2
typedef unsigned short key;
#elif BYTES == 4
typedef unsigned key;
#elif defined(__OPENCL_VERSION__)
typedef ulong key;
#else
typedef unsigned long long key;
#endif

#define TOP ((key)((key)1 << (8 * BYTES - 1)))
#define EVERY ((key) ~(key)0)

// The key of an element's bits in the order from the least to the greatest.  Of a negative number all
// bits are turned round, and of another one the first; every NaN has the last key.
__device__ __forceinline__ key rising_key_of(key bits)
{
#if REAL
    if (GIVES == PLACES && bits == TOP) bits = 0;
    if ((key)(bits & (key)(TOP - 1)) > (key)((key)INFINITY_TOP << (8 * BYTES - 16))) return EVERY;
    return bits & TOP ? (key)~bits : (key)(bits | TOP);
#elif SIGNED
    return (key)(bits ^ TOP);
#elif LOGICAL
    return bits != 0;
#else
    return bits;
#endif
}

// The key of an element's bits.
__device__ __forceinline__ key key_of(key bits)
{
    return DESCENDING ? (key)~rising_key_of(bits) : rising_key_of(bits);
}

__device__ __forceinline__ key bits_of(key given)
{
    if (DESCENDING) given = (key)~given;
#if REAL
    return given & TOP ? (key)(given ^ TOP) : (key)~given;
#elif SIGNED
    return (key)(given ^ TOP);
#else
    return given;
#endif
}

__device__ __forceinline__ int64 place(int64 line, int64 element, int64 count, int64 inner)
{
    if (BESIDE) return line * count + element;
    return (line / inner * count + element) * inner + line % inner;
}

// A launch's input: elements in the first one, else keys.
__device__ __forceinline__ key key_at(const GLOBAL key* from, int first, int64 line, int64 element,
                                      int64 count, int64 inner)
{
    return first ? key_of(from[place(line, element, count, inner)])
                 : from[line * count + element];
}

__device__ __forceinline__ unsigned along_at(const GLOBAL unsigned* from, int first, int64 line,
                                             int64 element, int64 count, int64 inner)
{
    if (GIVES == VALUES) return 0;
    if (!first) return from[line * count + element];
    return GIVES == PLACES ? (unsigned)element : from[place(line, element, count, inner)];
}

// A launch's output: results in the last one, else keys.
__device__ __forceinline__ void put_key(GLOBAL key* to, key value, int last, int64 line,
                                        int64 element, int64 count, int64 inner)
{
    if (!last) to[line * count + element] = value;
    else if (GIVES != PLACES) to[place(line, element, count, inner)] = bits_of(value);
}

__device__ __forceinline__ void put_along(GLOBAL unsigned* to, unsigned along, int last, int64 line,
                                          int64 element, int64 count, int64 inner)
{
    if (GIVES == VALUES) return;
    int64 there = last ? place(line, element, count, inner) : line * count + element;
    if (last && GIVES == PLACES) ((GLOBAL int64*)to)[there] = along;
    else to[there] = along;
}

__device__ __forceinline__ void put(GLOBAL key* to, GLOBAL unsigned* to_along, key value,
                                    unsigned along, int last, int64 line, int64 element,
                                    int64 count, int64 inner)
{
    put_key(to, value, last, line, element, count, inner);
    put_along(to_along, along, last, line, element, count, inner);
}
