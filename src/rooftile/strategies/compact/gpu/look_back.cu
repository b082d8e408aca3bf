// Rung 5, look_back: a single pass; each tile looks back at those before it for how many they keep.
//
// Tiles are taken by an atomic counter, so that all tiles before one have been begun by blocks that
// run: nobody waits for a block that waits for room.  A warp loads ROWS rows of 32 vectors.  In a
// row an element's place follows from how many each lane keeps, of two rows by one scan of their
// halves of a word.  Elements gather in shared memory and leave it beside each other, while what is
// before the tile is looked up.  What it removes: the second read of the mask, stores one by one.
//
// x[count], mask[count], y[count], kept[1], states[WINDOW + tiles], tickets[1].
// Grid: x over tiles.
// Block: x over THREADS threads.

#include "items.h"
#include "states.h"

#define WIDTH (16 / SIZE)
#define WARPS (THREADS / 32)
#define TILE (THREADS * ROWS * WIDTH)

// WIDTH elements, in words of which a compiler holds each in a register.
struct __align__(16) vector { unsigned of[4]; };

__device__ __forceinline__ item element(const struct vector* vector, int e)
{
#if SIZE == 8
    return (int64)vector->of[2 * e + 1] << 32 | vector->of[2 * e];
#else
    return (item)(vector->of[e * SIZE / 4] >> 8 * (e * SIZE % 4));
#endif
}

// A bit for each of four bytes that is not zero, the first byte's lowest.
__device__ __forceinline__ unsigned bits_of(unsigned bytes)
{
    unsigned highest = ((bytes & 0x7f7f7f7fu) + 0x7f7f7f7fu | bytes) & 0x80808080u;
    // The product brings bits 0, 8, 16 and 24 to 24, 25, 26 and 27.
    return (highest >> 7) * 0x01020408u >> 24 & 15;
}

// Brings a lane's vector from `at` on; returns a bit for each element that is kept.
__device__ __forceinline__ unsigned bring(struct vector* to, const item* x,
                                          const unsigned char* mask, int64 at, int64 count)
{
    unsigned bits = 0;
    if (at + WIDTH <= count) {
        *to = *(const struct vector*)(x + at);
#if SIZE == 8
        bits = bits_of(*(const unsigned short*)(mask + at));
#else
        UNROLL for (int e = 0; e < WIDTH; e += 4)
            bits |= bits_of(*(const unsigned*)(mask + at + e)) << e;
#endif
    } else {
        UNROLL for (int word = 0; word < 4; word++) to->of[word] = 0;
        UNROLL for (int e = 0; e < WIDTH; e++) {
            if (at + e >= count) continue;
            bits |= (unsigned)(mask[at + e] != 0) << e;
#if SIZE == 8
            to->of[2 * e] = (unsigned)x[at + e];
            to->of[2 * e + 1] = (unsigned)(x[at + e] >> 32);
#else
            to->of[e * SIZE / 4] |= (unsigned)x[at + e] << 8 * (e * SIZE % 4);
#endif
        }
    }
    return bits;
}

// How many elements of the warp lie before each of a lane's vectors; returns how many there are.
__device__ __forceinline__ int ranks(const unsigned* bits, int* before)
{
    int lane = threadIdx.x % 32, all = 0;
    UNROLL for (int row = 0; row < ROWS; row += 2) {
        unsigned own = __popc(bits[row]) | __popc(bits[row + 1]) << 16, sum = own;
        UNROLL for (int reach = 1; reach < 32; reach *= 2) {
            unsigned other = __shfl_up_sync(EVERY_LANE, sum, reach);
            if (lane >= reach) sum += other;
        }
        unsigned both = __shfl_sync(EVERY_LANE, sum, 31);
        sum -= own;
        before[row] = all + (int)(sum & 0xffff);
        all += (int)(both & 0xffff);
        before[row + 1] = all + (int)(sum >> 16);
        all += (int)(both >> 16);
    }
    return all;
}

__global__ RESIDENT_BOUNDS(THREADS, BLOCKS) void compact_tiles(
    const item* __restrict__ x, const unsigned char* __restrict__ mask, item* __restrict__ y,
    int64* __restrict__ kept, state_word* states, unsigned* tickets, int64 tiles, int64 count)
{
    __shared__ item gathered[TILE];
    __shared__ int totals[WARPS];
    __shared__ int64 place;
    __shared__ unsigned ticket;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1u);
    __syncthreads();
    int64 tile = ticket, low = tile * TILE + (warp * ROWS * 32 + lane) * WIDTH;
    struct vector vectors[ROWS];
    unsigned bits[ROWS];
    int before[ROWS];
    UNROLL for (int row = 0; row < ROWS; row++)
        bits[row] = bring(&vectors[row], x, mask, low + row * 32 * WIDTH, count);
    int own = ranks(bits, before);
    if (lane == 0) totals[warp] = own;
    __syncthreads();
    int earlier = 0, all = 0;
    UNROLL for (int w = 0; w < WARPS; w++) {
        if (w < warp) earlier += totals[w];
        all += totals[w];
    }
    state_word* state = states + WINDOW + tile;
    if (threadIdx.x == 0) publish(state, all, AGGREGATE);
    UNROLL for (int row = 0; row < ROWS; row++) {
        int at = earlier + before[row];
        UNROLL for (int e = 0; e < WIDTH; e++)
            if (bits[row] >> e & 1) gathered[at++] = element(&vectors[row], e);
    }
    if (warp == 0) {
        int64 found = look_back(state);
        if (lane == 0) {
            publish(state, found + all, PREFIX);
            place = found;
            if (tile == tiles - 1) kept[0] = found + all;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < all; i += THREADS) y[place + i] = gathered[i];
}
