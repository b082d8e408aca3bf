// onesweep: digits of 8 bits; each pass reads every key once and writes it once.
//
// All digits of all keys are counted in one launch at the start, for the counts do not depend on the
// order.  Then a tile needs to know only how many keys of each digit the tiles before it hold: each
// publishes its own counts, and looks back until a tile has published the counts of all up to it.
// What it removes: the second read of keys in each pass, and the scan between its launches; and with
// 8 bits instead of 4 half of the passes.
//
// A block takes the next tile by an atomic counter, so that all tiles before it have been begun by
// blocks that run.  A warp takes ITEMS rows of 32 keys, and ranks a row at a time: every lane sets its
// bit in the mask of its digit, and lanes whose digits agree find each other there.  So equal digits
// keep their order.  (Votes, one for each bit of a digit, take twice as many instructions.)
//
// In a pass whose digit all keys of a line share, they stay in their order: its tiles are copied.
//
// x[outer][count][inner]; keys[lines][count] and along[lines][count] between two passes;
// starts[passes][lines][256]; states[passes][lines][tiles][256]; tickets[passes];
// moving[passes][lines], whether a pass changes the order.
// Grid: x over the tiles of all lines; over lines and passes.
// Block: x over THREADS threads, for a tile of THREADS ITEMS keys.

#include "keys.h"

#define DIGITS 256
#define DIGIT(key, shift) ((unsigned)((key) >> (shift)) & (DIGITS - 1))
#define WARPS (THREADS / 32)
#define TILE (THREADS * ITEMS)
#define EVERY_LANE 0xffffffffu
#define COPIES (32 / BYTES)
// A state: how many keys of a digit a tile has (ALONE), or all tiles up to it (UP_TO), below a flag.
#define ALONE (1u << 30)
#define UP_TO (2u << 30)
#define COUNT (ALONE - 1)

__global__ void onesweep_clear(
    unsigned* starts, unsigned* states, unsigned* tickets, unsigned* moving, int64 counts,
    int64 words)
{
    int64 first = blockIdx.x * (int64)blockDim.x + threadIdx.x;
    int64 step = (int64)gridDim.x * blockDim.x;
    if (first < BYTES) tickets[first] = 0;
    for (int64 e = first; e < counts; e += step) starts[e] = 0;
    for (int64 e = first; e < counts / DIGITS; e += step) moving[e] = 1;
    for (int64 e = first; e < words; e += step) states[e] = 0;
}

// Adjacent threads count in different copies: most keys may have few digits.
__global__ void __launch_bounds__(THREADS)
onesweep_count_digits(
    const key* __restrict__ x, unsigned* starts, int64 count, int64 inner, int64 lines,
    int64 blocks)
{
    __shared__ unsigned counts[BYTES * DIGITS * COPIES];
    int64 line = blockIdx.x / blocks, block = blockIdx.x % blocks;
    for (int k = threadIdx.x; k < BYTES * DIGITS * COPIES; k += THREADS) counts[k] = 0;
    __syncthreads();
    int copy = threadIdx.x % COPIES;
    UNROLL_BY(4)
    for (int64 e = block * THREADS + threadIdx.x; e < count; e += blocks * THREADS) {
        key own = key_of(x[place(line, e, count, inner)]);
        UNROLL for (int pass = 0; pass < BYTES; pass++)
            atomicAdd(&counts[(pass * DIGITS + DIGIT(own, 8 * pass)) * COPIES + copy], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < BYTES * DIGITS; k += THREADS) {
        unsigned sum = 0;
        UNROLL for (int other = 0; other < COPIES; other++)
            sum += counts[k * COPIES + (other + k) % COPIES];
        if (sum) atomicAdd(&starts[((k / DIGITS) * lines + line) * DIGITS + k % DIGITS], sum);
    }
}

// The sum of the numbers of the threads before this one; `sums` has a place for each of the warps
// that hold the 256 numbers.
__device__ __forceinline__ unsigned before_digit(unsigned own, unsigned* sums)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned sum = own;
    UNROLL for (int reach = 1; reach < 32; reach *= 2) {
        unsigned other = __shfl_up_sync(EVERY_LANE, sum, reach);
        if (lane >= reach) sum += other;
    }
    if (lane == 31 && warp < DIGITS / 32) sums[warp] = sum;
    __syncthreads();
    unsigned before = sum - own;
    UNROLL for (int other = 0; other < DIGITS / 32; other++)
        if (other < warp) before += sums[other];
    return before;
}

// A block of 256 threads for each line of each pass: where each digit's keys begin, and whether there
// are several digits.
__global__ void __launch_bounds__(DIGITS)
onesweep_scan_digits(unsigned* starts, unsigned* moving, int64 count)
{
    __shared__ unsigned sums[DIGITS / 32];
    unsigned* own = starts + (int64)blockIdx.x * DIGITS + threadIdx.x;
    if (*own == count) moving[blockIdx.x] = 0;
    *own = before_digit(*own, sums);
}

// Ranks have 16 bits, two in a register: a thread has few.
#define RANKS ((ITEMS + 1) / 2)
#define RANK(ranks, item) ((ranks)[(item) / 2] >> 16 * ((item) % 2) & 0xffff)

__device__ __forceinline__ void put_rank(unsigned* ranks, int item, unsigned rank)
{
    if (item % 2) ranks[item / 2] |= rank << 16;
    else ranks[item / 2] = rank;
}

// Each key's number of earlier keys with its digit in the warp's tile; `counts` of the warp are the
// new totals. `masks` of the warp are zero, and are so again afterwards.
__device__ __forceinline__ void rank_keys(const key* own, unsigned* ranks, unsigned* counts,
                                          unsigned* masks, int shift)
{
    unsigned lane = threadIdx.x % 32, lower = (1u << lane) - 1;
    for (int k = lane; k < DIGITS; k += 32) counts[k] = masks[k] = 0;
    __syncwarp();
    UNROLL for (int item = 0; item < ITEMS; item++) {
        unsigned digit = DIGIT(own[item], shift);
        atomicOr(masks + digit, 1u << lane);
        __syncwarp();
        unsigned same = masks[digit], before = counts[digit];
        __syncwarp();
        if ((same & lower) == 0) {
            counts[digit] = before + __popc(same);
            masks[digit] = 0;
        }
        put_rank(ranks, item, before + __popc(same & lower));
        __syncwarp();
    }
}

// Number of a digit's keys in all tiles before this one.
__device__ __forceinline__ unsigned looked_back(const volatile unsigned* state)
{
    unsigned before = 0, seen;
    do {
        state -= DIGITS;
        do seen = *state;
        while (!seen);
        before += seen & COUNT;
    } while (!(seen & UP_TO));
    return before;
}

// As key_at and put_key, with a line's first index taken out of the sum where its elements are
// adjacent: the rest has 32 bits.
__device__ __forceinline__ key key_in(const key* from, int first, int64 line, int64 begin, int e,
                                      int64 count, int64 inner)
{
    if (!BESIDE) return key_at(from, first, line, begin + e, count, inner);
    key one = (from + (line * count + begin))[e];
    return first ? key_of(one) : one;
}

__device__ __forceinline__ void put_key_in(key* to, key value, int last, int64 line,
                                           unsigned element, int64 count, int64 inner)
{
    if (!BESIDE)
        put_key(to, value, last, line, element, count, inner);
    else if (!last || GIVES != PLACES)
        (to + line * count)[element] = last ? bits_of(value) : value;
}

// Not inlined, so that a tile that is sorted has all registers.
__device__ __noinline__ void copy_tile(const key* keys, const unsigned* along, key* to,
                                       unsigned* to_along, int ends, int64 line, int64 begin,
                                       int64 count, int64 inner)
{
    int first = ends & 1, last = ends >> 1;
    for (int64 e = begin + threadIdx.x; e < begin + TILE && e < count; e += THREADS) {
        put_key(to, key_at(keys, first, line, e, count, inner), last, line, e, count, inner);
        put_along(to_along, along_at(along, first, line, e, count, inner), last, line, e, count,
                  inner);
    }
}

// Keys behind the last of the line are the last in the order of the last tile, and are not stored.
__global__ RESIDENT_BOUNDS(THREADS, BLOCKS) void onesweep(
    const key* keys, const unsigned* along, key* to, unsigned* to_along, const unsigned* starts,
    unsigned* states, unsigned* tickets, const unsigned* moving, int pass, int first, int last,
    int64 count, int64 inner, int64 lines, int64 tiles)
{
    __shared__ union {
        unsigned masks[WARPS][DIGITS];
        key keys[TILE];
        unsigned along[GIVES == VALUES ? 1 : TILE];
    } tile;
    __shared__ unsigned counts[WARPS][DIGITS], bases[DIGITS];
    __shared__ unsigned sums[DIGITS / 32], ticket;
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32, shift = 8 * pass;
    if (thread == 0) ticket = atomicAdd(tickets + pass, 1u);
    __syncthreads();
    unsigned whose = ticket / (unsigned)tiles;
    int64 line = whose, number = ticket - whose * (unsigned)tiles, begin = number * TILE;
    int there = count - begin < TILE ? (int)(count - begin) : TILE;
    int mine = warp * 32 * ITEMS + lane;
    key own[ITEMS];
    UNROLL for (int item = 0; item < ITEMS; item++) {
        int e = mine + 32 * item;
        own[item] = e < there ? key_in(keys, first, line, begin, e, count, inner) : EVERY;
    }
    // Asked here, it comes with the keys.
    if (!moving[pass * lines + line]) {
        copy_tile(keys, along, to, to_along, first + 2 * last, line, begin, count, inner);
        return;
    }
    unsigned ranks[RANKS];
    rank_keys(own, ranks, counts[warp], tile.masks[warp], shift);
    __syncthreads();
    volatile unsigned* state =
        states + (((int64)pass * lines + line) * tiles + number) * DIGITS + thread;
    unsigned total = 0;
    if (thread < DIGITS) {
        UNROLL for (int other = 0; other < WARPS; other++) {
            unsigned one = counts[other][thread];
            counts[other][thread] = total;
            total += one;
        }
        *state = total | (number ? ALONE : UP_TO);
    }
    unsigned start = before_digit(total, sums);
    if (thread < DIGITS) {
        UNROLL for (int other = 0; other < WARPS; other++) counts[other][thread] += start;
    }
    __syncthreads();
    UNROLL for (int item = 0; item < ITEMS; item++) {
        // Places in the tile have 16 bits as well, so that no sum reaches the other half.
        ranks[item / 2] += counts[warp][DIGIT(own[item], shift)] << 16 * (item % 2);
        tile.keys[RANK(ranks, item)] = own[item];
    }
    if (thread < DIGITS) {
        unsigned before = number ? looked_back(state) : 0;
        if (number) *state = (before + total) | UP_TO;
        bases[thread] = starts[((int64)pass * lines + line) * DIGITS + thread] + before - start;
    }
    __syncthreads();
    unsigned places[ITEMS];
    UNROLL for (int item = 0; item < ITEMS; item++) {
        int e = item * THREADS + thread;
        key one = tile.keys[e];
        places[item] = bases[DIGIT(one, shift)] + e;
        if (e < there) put_key_in(to, one, last, line, places[item], count, inner);
    }
#if GIVES != VALUES
    __syncthreads();
    UNROLL for (int item = 0; item < ITEMS; item++) {
        int e = mine + 32 * item;
        tile.along[RANK(ranks, item)] =
            e < there ? along_at(along, first, line, begin + e, count, inner) : 0;
    }
    __syncthreads();
    UNROLL for (int item = 0; item < ITEMS; item++) {
        int e = item * THREADS + thread;
        if (e < there)
            put_along(to_along, tile.along[e], last, line, places[item], count, inner);
    }
#endif
}
