// Rung 2, look_back: a single pass, in which each tile looks back at those before it for how many runs
// begin there.
//
// As compact's rung of this name, but that an element is kept where it differs from the one before
// it.  What it removes: the second read, the scan between, stores one by one.
//
// x[count], y[count], found[1], states[32 + groups + tiles][PIECES], tickets[1].
// Grid: x over tiles.
// Block: x over THREADS threads.

#include "sort/gpu/keys.h"
#include "compact/gpu/gather.h"

// Brings a lane's vector from `at` on; returns a bit for each element at which a run begins.
__device__ __forceinline__ unsigned bring_runs(struct vector* to, const item* x, int64 at,
                                               int64 count)
{
    unsigned bits = 0;
    bring(to, x, at, count);
    key before = at && at < count ? key_of((key)x[at - 1]) : 0;
    UNROLL for (int e = 0; e < WIDTH; e++) {
        key own = key_of((key)element(to, e));
        bits |= (unsigned)(at + e < count && (at + e == 0 || own != before)) << e;
        before = own;
    }
    return bits;
}

__global__ RESIDENT_BOUNDS(THREADS, BLOCKS) void unique_tiles(
    const item* __restrict__ x, item* __restrict__ y, int64* __restrict__ found,
    state_word* states, unsigned* tickets, int64 tiles, int64 groups,
    int64 count)
{
    int64 tile = next_tile(tickets), low = first_vector(tile);
    struct vector vectors[ROWS];
    unsigned bits[ROWS];
    UNROLL for (int row = 0; row < ROWS; row++)
        bits[row] = bring_runs(&vectors[row], x, low + row * 32 * WIDTH, count);
    put_tile(vectors, bits, y, found, states, tile, tiles, groups);
}
