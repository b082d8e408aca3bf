// The states of tiles: one for each tile and one for each group of 32. CUDA only.
//
// A tile publishes its aggregate once; the last of a group, the group's aggregate (AGGREGATE), and
// then the aggregate of all tiles up to it (PREFIX). A warp that looks back reads the tiles of its
// own group and the 32 groups before it, a lane each, so none reads more than twice, for any number
// of tiles. Where nothing before counts (a line's first tile, one in which a segment begins) a
// state is a PREFIX at once.
//
// A state is some words of 64 bits, each with 32 bits of the value above the flag. So every word is
// complete by itself: a reader with words of one flag has a value, in whatever order memory shows
// them, and no fence is needed between a value and its flag.
//
// Results do not depend on the run. The prefix of a group is always ((g0 op g1) op g2) op ...: a
// warp that finds a prefix adds the groups after it one after the other, and a warp that found
// another prefix has made the same sums before. The tiles of a group are added by one tree.
//
// The carried type is defined before: by `common/carry.h`, or by `compact/gpu/counts.h`.
//
// states[32 + groups + tiles][PIECES]: a look back over the first 32 finds nothing there.

#pragma once

#define AGGREGATE 1u
#define PREFIX 2u
#define MEMBERS 32
#define PAUSE_NS 32
#define EVERY_LANE 0xffffffffu
#define PIECES ((int)(sizeof(struct carry) + 3) / 4)

typedef unsigned long long state_word;
union pieces { struct carry all; unsigned of[PIECES]; };

__device__ __forceinline__ void publish(state_word* state, struct carry value, unsigned flag)
{
    union pieces pieces;
    pieces.of[0] = 0;
    pieces.all = value;
    if (PIECES == 1) {
        state_word word = (state_word)pieces.of[0] << 32 | flag;
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(state), "l"(word) : "memory");
    }
    UNROLL for (int k = 0; k + 1 < PIECES; k += 2) {
        state_word low = (state_word)pieces.of[k] << 32 | flag;
        state_word high = (state_word)pieces.of[k + 1] << 32 | flag;
        asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(state + k), "l"(low),
                     "l"(high)
                     : "memory");
    }
}

// Returns the flag of a state, 0 where it is not whole yet.
__device__ __forceinline__ unsigned looked_up(const state_word* state, struct carry* value)
{
    union pieces pieces;
    unsigned flag = 0;
    if (PIECES == 1) {
        state_word word;
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(state) : "memory");
        pieces.of[0] = word >> 32, flag = (unsigned)word;
    }
    UNROLL for (int k = 0; k + 1 < PIECES; k += 2) {
        state_word low, high;
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(low), "=l"(high)
                     : "l"(state + k)
                     : "memory");
        pieces.of[k] = low >> 32, pieces.of[k + 1] = high >> 32;
        if (k == 0) flag = (unsigned)low;
        if ((unsigned)low != flag || (unsigned)high != flag) flag = 0;
    }
    *value = pieces.all;
    return flag;
}

__global__ void KERNEL(clear)(state_word* states, unsigned* tickets, int64 words)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) *tickets = 0;
    for (int64 e = blockIdx.x * (int64)blockDim.x + threadIdx.x; e < words;
         e += (int64)gridDim.x * blockDim.x)
        states[e] = 0;
}

// The combination of a warp's values, in their order.
__device__ __forceinline__ carried in_order(carried value)
{
    UNROLL for (int reach = 1; reach < 32; reach *= 2) {
        carried other = __shfl_xor_sync(EVERY_LANE, value, reach);
        value = threadIdx.x & reach ? combined(other, value) : combined(value, other);
    }
    return value;
}

__device__ __forceinline__ struct carry only(carried value)
{
    struct carry all = nothing();
    all.high = value;
    return all;
}

__device__ __forceinline__ state_word* state_of(state_word* states, int64 groups, int64 tile)
{
    return states + (MEMBERS + groups + tile) * PIECES;
}

// Publishes what a tile comes to; `cut` says that nothing before the tile is part of that.
__device__ __forceinline__ void publish_tile(state_word* states, int64 groups, int64 tile,
                                             carried whole, bool cut)
{
    publish(state_of(states, groups, tile), only(whole), cut ? PREFIX : AGGREGATE);
}

// The published prefix of a tile; for a warp. `held` has a place for each lane.
__device__ __forceinline__ struct carry look_back_from(state_word* states, int64 groups, int64 tile,
                                                       carried whole, bool cut, struct carry* held)
{
    int lane = threadIdx.x % 32, member = tile % MEMBERS;
    state_word* group = states + (MEMBERS + tile / MEMBERS) * PIECES;
    const state_word* own = state_of(states, groups, tile);
    struct carry value = nothing();
    unsigned known = lane < member ? 0 : AGGREGATE, cuts;
    int first;
    for (;;) {
        if (!known) known = looked_up(own - (member - lane) * PIECES, &value);
        cuts = __ballot_sync(EVERY_LANE, known == PREFIX);
        first = 31 - __clz(cuts | 1);
        if (!(__ballot_sync(EVERY_LANE, known == 0) >> first)) break;
        __nanosleep(PAUSE_NS);
    }
    carried within = in_order(first <= lane && lane < member ? value.high : IDENTITY);
    bool last = member == MEMBERS - 1 && lane == 0, closed = cuts || tile < MEMBERS;
    carried all = cut ? whole : combined(within, whole);
    if (last) publish(group, only(all), cut || closed ? PREFIX : AGGREGATE);
    if (closed) return only(within);
    int nearest;
    struct carry earlier;
    unsigned flag = 0;
    for (;;) {
        if (!flag) flag = looked_up(group - (1 + lane) * PIECES, &earlier);
        unsigned prefixes = __ballot_sync(EVERY_LANE, flag == PREFIX);
        unsigned unknown = __ballot_sync(EVERY_LANE, flag == 0);
        nearest = __ffs(prefixes) - 1;
        if (prefixes && !(unknown & ((1u << nearest) - 1))) break;
        // Where only aggregates of groups are published, one of them has to become a prefix.
        if (!prefixes && lane == 31) flag = 0;
        __nanosleep(PAUSE_NS);
    }
    held[lane] = earlier;
    __syncwarp();
    struct carry before = held[nearest];
    for (int back = nearest - 1; back >= 0; back--) before = joined(before, held[back].high);
    if (last && !cut) publish(group, joined(before, all), PREFIX);
    return joined(before, within);
}
