// look_back: a single pass; each tile looks back at those before it for how many they keep.
//
// Tiles are taken by an atomic counter, so that all tiles before one have been begun by blocks that
// run: nobody waits for a block that waits for room.  What a tile keeps gathers in shared memory
// (`gather.h`).  What it removes: the second read of the mask, stores one by one.
//
// x[count], mask[count], y[count], kept[1], states[32 + groups + tiles][PIECES], tickets[1].
// Grid: x over tiles.
// Block: x over THREADS threads.

#define FAMILY look_back
#include "flags.h"
#include "gather.h"

#define FLAG_WORDS ((WIDTH + 3) / 4)

// Brings a lane's vectors, and a bit for each element that is kept.  All loads are under way before
// the first of them is waited for.
__device__ __forceinline__ void bring(struct vector* vectors, unsigned* bits, const item* x,
                                      const unsigned char* mask, int64 low)
{
    unsigned flags[ROWS][FLAG_WORDS];
    UNROLL for (int row = 0; row < ROWS; row++) {
        int64 at = low + row * 32 * WIDTH;
#if SIZE == 8
        flags[row][0] = *(const unsigned short*)(mask + at);
#else
        UNROLL for (int word = 0; word < FLAG_WORDS; word++)
            flags[row][word] = *(const unsigned*)(mask + at + 4 * word);
#endif
        vectors[row] = *(const struct vector*)(x + at);
    }
    UNROLL for (int row = 0; row < ROWS; row++) {
        bits[row] = 0;
        UNROLL for (int word = 0; word < FLAG_WORDS; word++)
            bits[row] |= bits_of(flags[row][word]) << 4 * word;
    }
}

__global__ RESIDENT_BOUNDS(THREADS, BLOCKS) void look_back(
    const item* __restrict__ x, const unsigned char* __restrict__ mask, item* __restrict__ y,
    int64* __restrict__ kept, state_word* states, unsigned* tickets, int64 tiles, int64 groups,
    int64 count)
{
    int64 tile = next_tile(tickets), low = first_vector(tile);
    struct vector vectors[ROWS];
    unsigned bits[ROWS];
    if (all_there(low, count)) {
        bring(vectors, bits, x, mask, low);
    } else {
        UNROLL for (int row = 0; row < ROWS; row++) {
            int64 at = low + row * 32 * WIDTH;
            bring_rest(&vectors[row], x, at, count);
            bits[row] = 0;
            UNROLL for (int e = 0; e < WIDTH; e++)
                if (at + e < count) bits[row] |= (unsigned)(mask[at + e] != 0) << e;
        }
    }
    put_tile(vectors, bits, y, kept, states, tile, tiles, groups);
}
