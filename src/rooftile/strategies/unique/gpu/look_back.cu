// look_back: a single pass, in which each tile looks back at those before it for how many runs
// begin there.
//
// As compact's rung of this name, but that an element is kept where it differs from the one before
// it.  What it removes: the second read, the scan between, stores one by one.
//
// x[count], y[count], found[1], states[32 + groups + tiles][PIECES], tickets[1].
// Grid: x over tiles.
// Block: x over THREADS threads.

#define FAMILY look_back
#include "sort/gpu/keys.h"
#include "compact/gpu/gather.h"

// A bit for each element of a lane's vector from `at` on at which a run begins; `before` is the one
// before it.
__device__ __forceinline__ unsigned beginnings(const struct vector* vector, item before, int64 at,
                                               int64 count)
{
    unsigned bits = 0;
    key last = key_of((key)before);
    UNROLL for (int e = 0; e < WIDTH; e++) {
        key own = key_of((key)element(vector, e));
        bits |= (unsigned)(at + e < count && (at + e == 0 || own != last)) << e;
        last = own;
    }
    return bits;
}

__global__ RESIDENT_BOUNDS(THREADS, BLOCKS) void look_back(
    const item* __restrict__ x, item* __restrict__ y, int64* __restrict__ found,
    state_word* states, unsigned* tickets, int64 tiles, int64 groups,
    int64 count)
{
    int64 tile = next_tile(tickets), low = first_vector(tile);
    struct vector vectors[ROWS];
    unsigned bits[ROWS];
    item before[ROWS];
    // All loads are under way before the first of them is waited for.
    if (all_there(low, count)) {
        UNROLL for (int row = 0; row < ROWS; row++) {
            int64 at = low + row * 32 * WIDTH;
            vectors[row] = *(const struct vector*)(x + at);
            before[row] = x[at ? at - 1 : 0];
        }
    } else {
        UNROLL for (int row = 0; row < ROWS; row++) {
            int64 at = low + row * 32 * WIDTH;
            bring_rest(&vectors[row], x, at, count);
            before[row] = x[at == 0 ? 0 : at < count ? at - 1 : count - 1];
        }
    }
    UNROLL for (int row = 0; row < ROWS; row++)
        bits[row] = beginnings(&vectors[row], before[row], low + row * 32 * WIDTH, count);
    put_tile(vectors, bits, y, found, states, tile, tiles, groups);
}
