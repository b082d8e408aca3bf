// streamed_ieee: the transposed product of turned_ieee, without long waits.
//
// In turned_ieee a block splits a whole row of a; a warpgroup that splits does not multiply; and
// sums of parts are in memory between two kernels, stored a number at a time. Here a block splits a
// part of a row, which has a scale of its own, so that it reads little twice. A block's tile has 64
// columns of b, and GROUPS warpgroups take turns at its slices: while one splits, the other
// multiplies. b is loaded while a is split. Blocks of a cluster have a part of the terms each. They
// add up their sums in shared memory, and store lines.
// What it removes: a launch, and turns in which cores or copies pause.
//
// See gemm/gpu/warpgroups/warpgroups_ieee.h: x is b, as x[images][INPUTS] where it is transposed,
// else X_ACROSS; weights are a; out[OUTPUTS][images].

#define FAMILY streamed_ieee
#include "gemm/gpu/warpgroups/copies.h"
#include "gemm/gpu/warpgroups/results.h"
#include "gemm/gpu/warpgroups/split_slices.h"
#include "matmul/gpu/warpgroups/split_parts.h"

// Sums of a warpgroup in shared memory, as lines of out.
#define PITCH (ROWS + 4)
#define HELD_SUMS (TILE_O * PITCH)
// After all warpgroups' ones come the places of results in doubt; and after the stages and their
// barriers the ranges of all parts' rows of a, and of all parts' and warpgroups' columns of b.
#define DOUBTS_AT (4 * GROUPS * HELD_SUMS)
#define ROW_SCALES_AT (STAGES * (STAGE_BYTES + 16))
#define KNOWN_AT (ROW_SCALES_AT + 8 * TILE_O * PARTS)

// One thread loads a part's slices. The slices of b need not wait for the launch that splits a: as
// many as there are stages are loaded meanwhile.
__device__ __forceinline__ void fetch_part(const tensor_map* rows, const element* numbers,
                                           unsigned stages, unsigned barriers, struct work work)
{
    const char* weights = (const char*)numbers;
    int ahead = min(work.slice + STAGES, work.end);
    ROLLED for (int s = work.slice; s < ahead; s++) {
        int at = s - work.slice;
        arrive_and_expect_tx(STAGE_BYTES, FULL_BARRIER(barriers, at));
        start_rows(rows, stages + at * STAGE_BYTES, FULL_BARRIER(barriers, at), s, work.image);
    }
    GRIDDEPCONTROL_WAIT();
    ROLLED for (int s = work.slice; s < ahead; s++) {
        int at = s - work.slice;
        start_weights(weights, stages + at * STAGE_BYTES, FULL_BARRIER(barriers, at), s);
    }
    struct pipeline_state pipe = {0, 1};
    ROLLED for (int s = ahead; s < work.end; s++, advance(&pipe, STAGES)) {
        unsigned stage = stages + pipe.stage * STAGE_BYTES, full = FULL_BARRIER(barriers, pipe.stage);
        producer_acquire(barriers, pipe, STAGES);
        arrive_and_expect_tx(STAGE_BYTES, full);
        start_rows(rows, stage, full, s, work.image);
        start_weights(weights, stage, full, s);
    }
}

// A warpgroup sums up every GROUPS-th slice.  The next one is taken while products are on their way.
__device__ __forceinline__ void take_turns(float total[TILE_O / 2], struct row rows[2],
                                           struct work work, unsigned stages, unsigned barriers)
{
    int group = threadIdx.x / 128 - 1;
    unsigned place = stages + place_of_lane() - group * ROWS * 128;
    struct pipeline_state pipe = {group, 0};
    UNROLL for (int e = 0; e < TILE_O / 2; e++) total[e] = 0.0f;
    UNROLL for (int r = 0; r < 2; r++) rows[r].most = rows[r].small = 0.0f;
    if (work.slice + group >= work.end) return;
    struct slice slice;
    consumer_wait(barriers, pipe);
    take(place + pipe.stage * STAGE_BYTES, &slice, rows);
    ROLLED for (int s = work.slice + group; s < work.end; s += GROUPS) {
        struct fragments a;
        split(&slice, &a);
        float back[2] = {over(-14, slice.scale[0]), over(-14, slice.scale[1])}, sum[SUM_O / 2];
        begin(sum, &a, stages + pipe.stage * STAGE_BYTES + ROWS * 128);
        unsigned taken = EMPTY_BARRIER(barriers, pipe.stage, STAGES);
        UNROLL for (int g = 0; g < GROUPS; g++) advance(&pipe, STAGES);
        if (s + GROUPS < work.end) {
            consumer_wait(barriers, pipe);
            take(place + pipe.stage * STAGE_BYTES, &slice, rows);
        }
        WGMMA_WAIT_FOR(sum, a, 0);
        cluster_consumer_release(&taken);
        add(total, sum, back);
    }
}

// Stores a number at the same place of all blocks of the cluster.
__device__ __forceinline__ void dsmem_store_all(float* place, float value)
{
#if PARTS > 1
    UNROLL for (int part = 0; part < PARTS; part++)
        asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
                     "st.shared::cluster.f32 [there], %2; }" ::"r"(
                         (unsigned)__cvta_generic_to_shared(place)),
                     "r"(part), "f"(value)
                     : "memory");
#else
    *place = value;
#endif
}

// The amount that small numbers of a part's and warpgroup's columns of b may miss, and a small
// number of a that meets these: see `scaled_back`.
struct known { float small[ROWS], most[ROWS]; };

// Holds a warpgroup's sums, scaled back, as lines of out; and tells what is known of its columns.
__device__ __forceinline__ void hold(const float sum[TILE_O / 2], const struct row rows[2],
                                     const struct row_scale* row_scales, float* held, struct known* known)
{
    int group = threadIdx.x / 128 - 1, row = row_of_lane() - group * ROWS;
    held += group * HELD_SUMS, known += group;
    UNROLL for (int r = 0; r < 2; r++) {
        struct row whole = whole_row(rows[r]);
        if (threadIdx.x % 4 != 0) continue;
        dsmem_store_all(known->small + row + r * NEXT_ROW, missed_of_row(whole));
        dsmem_store_all(known->most + row + r * NEXT_ROW, missed_of_weight(whole));
    }
    UNROLL for (int e = 0; e < TILE_O / 2; e++) {
        int output = threadIdx.x % 4 * 2 + COLUMN_OF(e);
        held[output * PITCH + row + DOWN(e)] = sum[e] * row_scales[output < OUTPUTS ? output : 0].unit;
    }
}

// The warpgroups that multiply meet.
__device__ __forceinline__ void meet_groups()
{
    asm volatile("bar.sync %0, %1;" ::"n"(1), "n"(128 * GROUPS) : "memory");
}

__device__ __forceinline__ void four_here(const float* held, float four[4])
{
    float4 all = *(const float4*)held;
    four[0] = all.x, four[1] = all.y, four[2] = all.z, four[3] = all.w;
}

// Four neighbours that the block of the part `beyond` this one holds.
__device__ __forceinline__ void dsmem_load_4(const float* held, int part, int beyond, float four[4])
{
#if PARTS > 1
    if (beyond > 0)
        asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %4, %5; "
                     "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there]; }"
                     : "=f"(four[0]), "=f"(four[1]), "=f"(four[2]), "=f"(four[3])
                     : "r"((unsigned)__cvta_generic_to_shared(held)), "r"((part + beyond) % PARTS)
                     : "memory");
    else
#endif
        four_here(held, four);
}

// Four neighbours of the sums over all parts, this block's first, and warpgroups.  In doubt, and
// NaN, are those where what small numbers miss may reach a unit in the last place of these sums:
// float32 loses as much when it adds them.
__device__ __forceinline__ void join(const float* held, const struct row_scale* row_scales,
                                     const struct known* known, int part, int output, int row,
                                     float sum[4])
{
    float size[4], missing[4];
    UNROLL for (int e = 0; e < 4; e++) sum[e] = size[e] = missing[e] = 0.0f;
    UNROLL for (int p = 0; p < PARTS * GROUPS; p++) {
        int of = (part + p / GROUPS) % PARTS, group = p % GROUPS;
        float one[4], small[4], most[4];
        dsmem_load_4(held + group * HELD_SUMS + output * PITCH + row, part, p / GROUPS, one);
        four_here(known[of * GROUPS + group].small + row, small);
        four_here(known[of * GROUPS + group].most + row, most);
        struct row_scale row_scale = row_scales[of * OUTPUTS + (output < OUTPUTS ? output : 0)];
        UNROLL for (int e = 0; e < 4; e++) {
            sum[e] += one[e], size[e] += fabsf(one[e]);
            missing[e] = fmaf(row_scale.unit, fmaf(most[e], row_scale.small, small[e]), missing[e]);
        }
    }
    UNROLL for (int e = 0; e < 4; e++)
        sum[e] = size[e] >= missing[e] ? finite(sum[e]) : __int_as_float(0x7fffffff);
}

// Results in doubt, as output * ROWS + row of the tile.
struct doubts { int count, places[TILE_O * ROWS]; };

// Fours of a thread that are joined at a time.
#define AT_ONCE 2

// Stores four neighbours of a line of out, and notes which are in doubt.
__device__ __forceinline__ void store_four(const float sum[4], float* out, int first, int output,
                                           int row, struct doubts* doubts)
{
    int n = first + row;
    if (output >= OUTPUTS || n >= IMAGES) return;
    float* to = out + place_of_result(n, output);
#if IMAGES % 4 == 0
    *(float4*)to = make_float4(sum[0], sum[1], sum[2], sum[3]);
#endif
    UNROLL for (int e = 0; e < 4; e++) {
        if (n + e >= IMAGES) return;
        if (IMAGES % 4 != 0) to[e] = sum[e];
        if (sum[e] != sum[e])
            doubts->places[atomicAdd(&doubts->count, 1)] = output * ROWS + row + e;
    }
}

// Joins this block's share of the tile.
__device__ __forceinline__ void store_share(const float* held, const struct row_scale* row_scales,
                                            const struct known* known, float* out, int first,
                                            int part, struct doubts* doubts)
{
    const int fours = TILE_O * ROWS / 4, apart = 128 * GROUPS;
    int end = (part + 1) * fours / PARTS;
    ROLLED for (int f = part * fours / PARTS + threadIdx.x - 128; f < end; f += AT_ONCE * apart) {
        float sum[AT_ONCE][4];
        UNROLL for (int n = 0; n < AT_ONCE; n++) {
            int four = min(f + n * apart, end - 1);
            join(held, row_scales, known, part, four / (ROWS / 4), four % (ROWS / 4) * 4, sum[n]);
        }
        UNROLL for (int n = 0; n < AT_ONCE; n++) {
            int four = f + n * apart;
            if (four < end)
                store_four(sum[n], out, first, four / (ROWS / 4), four % (ROWS / 4) * 4, doubts);
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
__global__ __launch_bounds__(128 * (GROUPS + 1) + THREADS_BESIDE, 1) void streamed_ieee(
    const __grid_constant__ tensor_map rows, const float* x, const float* weights,
    const struct row_scale* row_scales, const element* numbers, float* out)
{
    extern __shared__ __align__(1024) char shared[];
    unsigned stages = (unsigned)__cvta_generic_to_shared(shared);
    if (threadIdx.x == 0) prefetch_tensormap(&rows);
    unsigned barriers = init_pipeline(stages);
    // All blocks of the cluster are there before any of them tells others what it knows.
    cluster_sync();
    struct work work = work_of(blockIdx.x, 0);
    int part = blockIdx.x % PARTS;
    if (threadIdx.x < 128) {
        SETMAXNREG_DEC(24);
        if (threadIdx.x == 0) fetch_part(&rows, numbers, stages, barriers, work);
        __syncwarp();
        cluster_sync();
    } else {
        SETMAXNREG_INC(CONSUMER_REGISTERS);
        struct row_scale* of_parts = (struct row_scale*)(shared + ROW_SCALES_AT);
        struct known* known = (struct known*)(shared + KNOWN_AT);
        struct doubts* doubts = (struct doubts*)(shared + DOUBTS_AT);
        int thread = threadIdx.x - 128;
        GRIDDEPCONTROL_WAIT();
        if (thread < PARTS * OUTPUTS) of_parts[thread] = row_scales[thread];
        float sum[TILE_O / 2];
        struct row two[2];
        take_turns(sum, two, work, stages, barriers);
        // Once all blocks have said so.  Earlier, the next launch's blocks would crowd on the few
        // multiprocessors that have none of these.
        GRIDDEPCONTROL_LAUNCH();
        // All products have been made before stages are written over.
        meet_groups();
        if (thread == 0) doubts->count = 0;
        hold(sum, two, of_parts + part * OUTPUTS, (float*)shared, known + part * GROUPS);
        cluster_sync();
        store_share((const float*)shared, of_parts, known, out, work.image, part, doubts);
        meet_groups();
        mend_all(x, weights, out, work.image, doubts);
    }
    // No block ends while another may still read its sums.
    cluster_sync_relaxed();
}
