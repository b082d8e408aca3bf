// A tile whose kept elements are stored contiguously, after the kept elements of earlier tiles.
// CUDA only.
//
// A warp has ROWS rows of 32 vectors, of each a bit for every element that is kept. In a row an
// element's place follows from the numbers that each lane keeps, of two rows by one scan of their
// halves of a word. Elements gather in shared memory and leave it contiguously, while the tile's
// prefix is looked up.
//
// y[count], kept[1], states[32 + groups + tiles][PIECES], tickets[1].

#pragma once
#include "compact/gpu/counts.h"
#include "common/states.h"
#include "items.h"

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

// Loads a lane's vector from `at` on, where not all of it is below `count`.
__device__ __forceinline__ void bring_rest(struct vector* to, const item* x, int64 at, int64 count)
{
    UNROLL for (int word = 0; word < 4; word++) to->of[word] = 0;
    UNROLL for (int e = 0; e < WIDTH; e++) {
        if (at + e >= count) continue;
#if SIZE == 8
        to->of[2 * e] = (unsigned)x[at + e];
        to->of[2 * e + 1] = (unsigned)(x[at + e] >> 32);
#else
        to->of[e * SIZE / 4] |= (unsigned)x[at + e] << 8 * (e * SIZE % 4);
#endif
    }
}

// True if all of a warp's elements are below `count`; `low` is the index of a lane's first vector.
__device__ __forceinline__ bool all_there(int64 low, int64 count)
{
    return low + (ROWS * 32 - threadIdx.x % 32) * WIDTH <= count;
}

// Numbers of the warp's elements before each of a lane's vectors; returns their total.
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

// The tile that this block takes; called by all threads.
__device__ __forceinline__ int64 next_tile(unsigned* tickets)
{
    __shared__ unsigned ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1u);
    __syncthreads();
    return ticket;
}

// The index of a lane's first vector of a tile; its others are 32 vectors apart.
__device__ __forceinline__ int64 first_vector(int64 tile)
{
    return tile * TILE + (threadIdx.x / 32 * ROWS * 32 + threadIdx.x % 32) * WIDTH;
}

// Stores what is kept of a tile, and how many elements all tiles keep behind the last.
__device__ __forceinline__ void put_tile(const struct vector* vectors, const unsigned* bits,
                                         item* __restrict__ y, int64* __restrict__ kept,
                                         state_word* states, int64 tile, int64 tiles,
                                         int64 groups)
{
    __shared__ item gathered[TILE];
    __shared__ int totals[WARPS];
    __shared__ struct carry held[MEMBERS];
    __shared__ int64 place;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, before[ROWS];
    int own = ranks(bits, before);
    if (lane == 0) totals[warp] = own;
    __syncthreads();
    int earlier = 0, all = 0;
    UNROLL for (int w = 0; w < WARPS; w++) {
        if (w < warp) earlier += totals[w];
        all += totals[w];
    }
    if (threadIdx.x == 0) publish_tile(states, groups, tile, all, tile == 0);
    UNROLL for (int row = 0; row < ROWS; row++) {
        int at = earlier + before[row];
        UNROLL for (int e = 0; e < WIDTH; e++)
            if (bits[row] >> e & 1) gathered[at++] = element(&vectors[row], e);
    }
    if (warp == 0) {
        int64 found = look_back_from(states, groups, tile, all, tile == 0, held).high;
        if (lane == 0) {
            place = found;
            if (tile == tiles - 1) kept[0] = found + all;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < all; i += THREADS) y[place + i] = gathered[i];
}
