// Rung 38, streamed_ieee: the turned product of rung 31, and nothing waits long.
//
// In turned_ieee a block splits a whole row of a; a warpgroup that splits does not multiply; and sums
// of parts lie in memory between two kernels, stored a number at a time.  Here a block splits a part
// of a row, which has a scale of its own, so that it reads little twice.  A block's tile has 64
// columns of b, and GROUPS warpgroups take turns at its slices: while one splits, the other
// multiplies.  Blocks of a cluster have a part of the terms each.  They add up their sums in shared
// memory, and store lines.
// What it removes: a launch, and turns in which cores or copies pause.
//
// See linear/gpu/warpgroups/warpgroups_ieee.cu: x is b, as x[images][INPUTS] where it lies
// transposed, else X_ACROSS; weights are a; out[OUTPUTS][images].

#include "linear/gpu/warpgroups/warpgroups_ieee.cu"

#define GROUPS 2
#define WARPS (PACK_THREADS / 32)
// Pieces of eight numbers, of which a part of a row has so many.
#define PART_PIECES (4 * PART_SLICES)
// Sums of a warpgroup in shared memory, as lines of out.
#define PITCH (ROWS + 4)
#define HELD_SUMS (TILE_O * PITCH)
// Behind those of all warpgroups lies what is known of their columns of b.
#define KNOWN (GROUPS * HELD_SUMS)
// Then the places of results in doubt; and behind the stages and their barriers, what is known of a
// part's rows of a.
#define DOUBTS_AT (4 * (KNOWN + GROUPS * 2 * ROWS))
#define SPANS_AT (STAGES * (STAGE_BYTES + 16))

// Four numbers of a row of weights, zeros around them.
__device__ __forceinline__ float4 four_of_weights(const float* weights, int output, int input)
{
    bool inside = output < OUTPUTS && input < INPUTS;
    return inside ? *(const float4*)(weights + (size_t)output * INPUTS + input)
                  : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

// Eight numbers of a part's row which stages hold as one piece, in its order: those of four lanes,
// two each.
__device__ __forceinline__ void take_piece(const float* weights, int output, int slice, int piece,
                                           float held[8])
{
#if X_ACROSS
    // A lane takes every fourth.
    UNROLL for (int i = 0; i < 2; i++) {
        float4 four = four_of_weights(weights, output, slice * SLICE + piece * 8 + 4 * i);
        held[i] = four.x, held[2 + i] = four.y, held[4 + i] = four.z, held[6 + i] = four.w;
    }
#else
    // A lane takes eight neighbours, and a piece has two of them.
    UNROLL for (int lane = 0; lane < 4; lane++) {
        float4 four = four_of_weights(weights, output, slice * SLICE + lane * 8 + piece / 2 * 4);
        held[2 * lane] = piece % 2 ? four.z : four.x;
        held[2 * lane + 1] = piece % 2 ? four.w : four.y;
    }
#endif
}

// What all warps of the block give.
__device__ __forceinline__ float of_warps(float value, bool greatest)
{
    __shared__ float joined[WARPS];
    UNROLL for (int apart = 1; apart < 32; apart *= 2) {
        float other = __shfl_xor_sync(~0u, value, apart);
        value = greatest ? fmaxf(value, other) : value + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) joined[threadIdx.x / 32] = value;
    __syncthreads();
    value = joined[0];
    UNROLL for (int warp = 1; warp < WARPS; warp++)
        value = greatest ? fmaxf(value, joined[warp]) : value + joined[warp];
    return value;
}

// Measures a part of a row of weights, splits it and lays it.  Grid: a block a part of a row, the
// padded rows too.
__global__ __launch_bounds__(PACK_THREADS) void split_parts(const float* weights,
                                                            struct span* __restrict__ spans,
                                                            element* __restrict__ numbers)
{
    await_earlier();
    int output = blockIdx.x / PARTS, part = blockIdx.x % PARTS;
    float most = 0.0f, small = 0.0f;
    UNROLL_BY(4) for (int p = threadIdx.x; p < PART_PIECES; p += PACK_THREADS) {
        float held[8];
        take_piece(weights, output, part * PART_SLICES + p / 4, p % 4, held);
        UNROLL for (int e = 0; e < 8; e++) most = fmaxf(most, fabsf(held[e]));
    }
    most = of_warps(most, true);
    float scale = scale_to(most);
    struct span span = {most == 0.0f ? 0.0f : over(14, scale), 0.0f};
    UNROLL_BY(4) for (int p = threadIdx.x; p < PART_PIECES; p += PACK_THREADS) {
        int slice = part * PART_SLICES + p / 4;
        if (slice >= SLICES) break;
        float held[8];
        __align__(16) narrow both[2][8];
        take_piece(weights, output, slice, p % 4, held);
        UNROLL for (int e = 0; e < 8; e++) {
            small += is_small(held[e], scale) ? 1.0f : 0.0f;
            split_weight(held[e], span, both[0] + e, 8);
        }
        narrow* to = numbers + (size_t)slice * 2 * PLANE + (p % 4 * TILE_O + output) * 8;
        *(uint4*)to = *(uint4*)both[0];
        *(uint4*)(to + PLANE) = *(uint4*)both[1];
    }
    span.small = of_warps(small, false);
    if (threadIdx.x == 0 && output < OUTPUTS) spans[part * OUTPUTS + output] = span;
}

// Waits for the launch that splits.  The next one begins when this one is over: its blocks would crowd
// on the few multiprocessors that have none of these.
__device__ __forceinline__ void await_split()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

// A warpgroup sums up every GROUPS-th slice.  The next one is taken while products are on their way.
__device__ __forceinline__ void take_turns(float total[TILE_O / 2], struct row rows[2],
                                           struct work work, unsigned stages, unsigned barriers)
{
    int group = threadIdx.x / 128 - 1;
    unsigned place = stages + place_of_lane() - group * ROWS * 128;
    struct turn turn = {group, 0};
    UNROLL for (int e = 0; e < TILE_O / 2; e++) total[e] = 0.0f;
    UNROLL for (int r = 0; r < 2; r++) rows[r].most = rows[r].small = 0.0f;
    if (work.slice + group >= work.end) return;
    struct slice slice;
    wait(FULL(barriers, turn.at), turn.round);
    take(place + turn.at * STAGE_BYTES, &slice, rows);
    ROLLED for (int s = work.slice + group; s < work.end; s += GROUPS) {
        struct fragments a;
        split(&slice, &a);
        float back[2] = {over(-14, slice.scale[0]), over(-14, slice.scale[1])}, sum[SUM_O / 2];
        begin(sum, &a, stages + turn.at * STAGE_BYTES + ROWS * 128);
        unsigned taken = EMPTY(barriers, turn.at, STAGES);
        UNROLL for (int g = 0; g < GROUPS; g++) advance(&turn, STAGES);
        if (s + GROUPS < work.end) {
            wait(FULL(barriers, turn.at), turn.round);
            take(place + turn.at * STAGE_BYTES, &slice, rows);
        }
        COMPLETE(sum, a, 0);
        leave(&taken);
        add(total, sum, back);
    }
}

// Holds a warpgroup's sums, scaled back, as lines of out; and for each column what its small numbers
// may miss, and a small number of a that meets it, see `scaled_back`.
__device__ __forceinline__ void hold(const float sum[TILE_O / 2], const struct row rows[2],
                                     const struct span* spans, float* held)
{
    int group = threadIdx.x / 128 - 1, row = row_of_lane() - group * ROWS;
    float* known = held + KNOWN + group * 2 * ROWS;
    held += group * HELD_SUMS;
    UNROLL for (int r = 0; r < 2; r++) {
        struct row whole = whole_row(rows[r]);
        if (threadIdx.x % 4 != 0) continue;
        known[row + r * NEXT_ROW] = missed_of_row(whole);
        known[ROWS + row + r * NEXT_ROW] = missed_of_weight(whole);
    }
    UNROLL for (int e = 0; e < TILE_O / 2; e++) {
        int output = threadIdx.x % 4 * 2 + COLUMN_OF(e);
        held[output * PITCH + row + DOWN(e)] = sum[e] * spans[output < OUTPUTS ? output : 0].unit;
    }
}

// The warpgroups that multiply meet.
__device__ __forceinline__ void meet_groups()
{
    asm volatile("bar.sync %0, %1;" ::"n"(1), "n"(128 * GROUPS) : "memory");
}

// Four neighbours that a part's block holds.
__device__ __forceinline__ void four_of_part(const float* held, int part, float four[4])
{
#if PARTS > 1
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %4, %5; "
                 "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there]; }"
                 : "=f"(four[0]), "=f"(four[1]), "=f"(four[2]), "=f"(four[3])
                 : "r"((unsigned)__cvta_generic_to_shared(held)), "r"(part)
                 : "memory");
#else
    UNROLL for (int e = 0; e < 4; e++) four[e] = held[e];
#endif
}

// Four neighbours of the sums over all parts and warpgroups.  In doubt, and NaN, are those where what
// small numbers miss may reach a unit in the last place of these sums: float32 loses as much when it
// adds them.
__device__ __forceinline__ void join(const float* held, const struct span* spans, int output,
                                     int row, float sum[4])
{
    float size[4], missing[4];
    UNROLL for (int e = 0; e < 4; e++) sum[e] = size[e] = missing[e] = 0.0f;
    UNROLL for (int p = 0; p < PARTS * GROUPS; p++) {
        int part = p / GROUPS, group = p % GROUPS;
        const float* known = held + KNOWN + group * 2 * ROWS + row;
        float one[4], small[4], most[4];
        four_of_part(held + group * HELD_SUMS + output * PITCH + row, part, one);
        four_of_part(known, part, small);
        four_of_part(known + ROWS, part, most);
        struct span span = spans[part * OUTPUTS + (output < OUTPUTS ? output : 0)];
        UNROLL for (int e = 0; e < 4; e++) {
            sum[e] += one[e], size[e] += fabsf(one[e]);
            missing[e] = fmaf(span.unit, fmaf(most[e], span.small, small[e]), missing[e]);
        }
    }
    UNROLL for (int e = 0; e < 4; e++)
        sum[e] = size[e] >= missing[e] ? finite(sum[e]) : __int_as_float(0x7fffffff);
}

// Results in doubt, as output * ROWS + row of the tile.
struct doubts { int count, places[TILE_O * ROWS]; };

// Joins this block's share of the tile.
__device__ __forceinline__ void store_share(const float* held, const struct span* spans,
                                            float* out, int first, int part,
                                            struct doubts* doubts)
{
    const int fours = TILE_O * ROWS / 4;
    int end = (part + 1) * fours / PARTS;
    ROLLED for (int f = part * fours / PARTS + threadIdx.x - 128; f < end; f += 128 * GROUPS) {
        int output = f / (ROWS / 4), row = f % (ROWS / 4) * 4;
        float sum[4];
        join(held, spans, output, row, sum);
        UNROLL for (int e = 0; e < 4; e++) {
            if (output >= OUTPUTS || first + row + e >= IMAGES) continue;
            out[place_of_result(first + row + e, output)] = sum[e];
            if (sum[e] != sum[e]) doubts->places[atomicAdd(&doubts->count, 1)] = 4 * f + e;
        }
    }
}

// Computes results from their definition, one after another by all threads that multiply: terms of
// a column of b are far apart, and a single warp would wait for them many times.
__device__ __forceinline__ void mend_all(const float* x, const float* weights, float* out,
                                         int first, const struct doubts* doubts)
{
    __shared__ float joined[4 * GROUPS];
    int thread = threadIdx.x - 128;
    ROLLED for (int d = 0; d < doubts->count; d++) {
        int output = doubts->places[d] / ROWS, n = first + doubts->places[d] % ROWS;
        const float *row = row_of(x, n), *with = weights_of(weights, output);
        float sum = 0.0f;
        UNROLL_BY(4) for (int k = thread * 4; k < INPUTS; k += 4 * 128 * GROUPS) {
            float4 a = four_of_row(row, k), b = four_weights(with, k);
            sum += a.x * b.x + a.y * b.y + (a.z * b.z + a.w * b.w);
        }
        UNROLL for (int apart = 1; apart < 32; apart *= 2) sum += __shfl_xor_sync(~0u, sum, apart);
        if (thread % 32 == 0) joined[thread / 32] = sum;
        meet_groups();
        if (thread == 0) {
            float whole = 0.0f;
            UNROLL for (int warp = 0; warp < 4 * GROUPS; warp++) whole += joined[warp];
            out[place_of_result(n, output)] = whole;
        }
        meet_groups();
    }
}

#if PARTS > 1
__cluster_dims__(PARTS, 1, 1)
#endif
__global__ __launch_bounds__(128 * (GROUPS + 1), 1) void product(
    const __grid_constant__ tensor_map rows, const float* x, const float* weights,
    const struct span* spans, const element* numbers, float* out)
{
    extern __shared__ __align__(1024) char shared[];
    unsigned stages = (unsigned)__cvta_generic_to_shared(shared);
    if (threadIdx.x == 0) ask_for(&rows);
    unsigned barriers = set_up(stages);
    await_split();
    struct work work = work_of(blockIdx.x, 0);
    int part = blockIdx.x % PARTS;
    if (threadIdx.x < 128) {
        FEWER_REGISTERS(24);
        if (threadIdx.x == 0) fetch(&rows, numbers, stages, barriers, 0, gridDim.x);
        __syncwarp();
        meet_all();
    } else {
        MORE_REGISTERS(CONSUMER_REGISTERS);
        struct span* of_part = (struct span*)(shared + SPANS_AT);
        struct doubts* doubts = (struct doubts*)(shared + DOUBTS_AT);
        int thread = threadIdx.x - 128;
        if (thread < OUTPUTS) of_part[thread] = spans[part * OUTPUTS + thread];
        float sum[TILE_O / 2];
        struct row two[2];
        take_turns(sum, two, work, stages, barriers);
        // All products have been made before stages are written over.
        meet_groups();
        if (thread == 0) doubts->count = 0;
        hold(sum, two, of_part, (float*)shared);
        meet_all();
        store_share((const float*)shared, spans, out, work.image, part, doubts);
        meet_groups();
        mend_all(x, weights, out, work.image, doubts);
    }
    // No block ends while another may still read its sums.
    meet_all();
}
