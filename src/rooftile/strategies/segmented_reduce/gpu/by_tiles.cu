// by_tiles: a tile of elements is summed in shared memory, a short segment by a thread, a long
// one by a warp.
//
// In `balanced` a thread looks for its part of the merged sequence, goes through ends and elements
// one by one, and waits for a scan of the block. Here a tile is TILE elements, which all threads
// load by wide loads, and the segments that end in it are taken by free threads, each from its
// first element to its last. What it removes: most of the instructions for an element, a scan and
// two barriers. Segments that cross tiles are joined as in `balanced`.
//
// A tile with very many ends of empty segments keeps its block's threads longer than others.
//
// x[count], offsets[segments + 1], results[segments]; the rest is described in `join.h`.
// Grid: x over tiles, or over blocks or spans of THREADS tiles.
// Block: x over THREADS threads.

#define FAMILY by_tiles
#include "common/warp_tree.h"
#include "join.h"

#define TILE (THREADS * PER)
#define WIDTH (16 / (int)sizeof(given))
#define WARPS (THREADS / 32)
// A segment of SHORT elements is still one thread's; and the most longer ones that a tile has.
#define MOST_LONG (TILE / SHORT + 2)

struct __align__(16) vector { given of[WIDTH]; };

// tile_ends[tile]: the ends before the tile's first element; all behind the last one are its own.
__global__ void by_tiles_find_ends(
    const OFFSET* __restrict__ offsets, int64* __restrict__ tile_ends, int64 segments, int tiles)
{
    int tile = blockIdx.x * THREADS + threadIdx.x;
    if (tile > tiles) return;
    int64 low = 0, high = segments;
    while (tile < tiles && low < high) {
        int64 middle = (low + high) / 2;
        if (offsets[middle + 1] < (int64)tile * TILE)
            low = middle + 1;
        else
            high = middle;
    }
    tile_ends[tile] = tile < tiles ? low : segments;
}

// Brings a tile's elements; all loads are under way before the first of them is waited for.
__device__ __forceinline__ void bring(carried* values, const given* x, int elements)
{
    struct vector loaded[PER / WIDTH];
    UNROLL
    for (int i = 0; i < PER / WIDTH; i++) {
        int at = (i * THREADS + threadIdx.x) * WIDTH;
        if (elements == TILE)
            loaded[i] = *(const struct vector*)(x + at);
        else
            UNROLL for (int e = 0; e < WIDTH; e++)
                loaded[i].of[e] = x[at + e < elements ? at + e : 0];
    }
    UNROLL
    for (int i = 0; i < PER / WIDTH; i++)
        UNROLL for (int e = 0; e < WIDTH; e++)
            values[(i * THREADS + threadIdx.x) * WIDTH + e] = taken(loaded[i].of[e]);
}

// An offset as a place in the tile; those that do not rise must not lead out of it.
__device__ __forceinline__ int within(int64 at, int elements)
{
    return at < 0 ? 0 : at < elements ? (int)at : elements;
}

__global__ void RESIDENT_BOUNDS(THREADS, RESIDENT)
by_tiles_reduce_tiles(const given* __restrict__ x, const OFFSET* __restrict__ offsets,
                      result* __restrict__ results, const int64* __restrict__ tile_ends,
                      carried* __restrict__ heads, carried* __restrict__ tails, int64 count)
{
    __shared__ __align__(16) carried values[TILE];
    __shared__ int begins[MOST_LONG], stops[MOST_LONG], numbers[MOST_LONG], many;
    int64 low = (int64)blockIdx.x * TILE, segment = tile_ends[blockIdx.x];
    int elements = (int)(count - low < TILE ? count - low : TILE);
    int64 ends = tile_ends[blockIdx.x + 1] - segment;
    if (threadIdx.x == 0) many = 0;
    bring(values, x + low, elements);
    __syncthreads();

    // The first segment lacks what comes from before; what follows the last end counts as one more.
    carried* head = heads + blockIdx.x;
    carried* tail = tails + blockIdx.x;
    for (int64 k = threadIdx.x; k <= ends; k += THREADS) {
        int begin = within(offsets[segment + k] - low, elements), stop = elements;
        if (k < ends) stop = within(offsets[segment + k + 1] - low, elements);
        if (stop - begin > SHORT) {
            int at = atomicAdd(&many, 1);
            if (at < MOST_LONG) begins[at] = begin, stops[at] = stop, numbers[at] = (int)k;
            continue;
        }
        carried total = IDENTITY;
        for (int e = begin; e < stop; e++) total = combined(total, values[e]);
        if (k == ends) *tail = total;
        else if (k == 0) *head = total;
        else results[segment + k] = stored(total);
    }
    __syncthreads();
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int at = warp; at < many && at < MOST_LONG; at += WARPS) {
        carried total = IDENTITY;
        int stop = stops[at], k = numbers[at];
        UNROLL_BY(4)
        for (int e = begins[at] + lane; e < stop; e += 32) total = combined(total, values[e]);
        total = of_warp(total);
        if (lane > 0) continue;
        if (k == ends) *tail = total;
        else if (k == 0) *head = total;
        else results[segment + k] = stored(total);
    }
}
