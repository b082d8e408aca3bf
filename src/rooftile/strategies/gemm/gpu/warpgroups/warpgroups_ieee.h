// Float32 as two numbers of float16 on Hopper's warpgroups.
//
// As warpgroups, but each number is split in two, x = high + low, scaled as
// `scaled_rows.h` says, and three products stand for one.  A warpgroup splits a slice of its images
// in registers, and finds their scales there.  Cores cut sums off, so a slice's sum, which is
// short, is added to the total in float32.  A run of SUM_O outputs is summed at a time, into one of
// two arrays, and added while the next run is summed.
// What it removes: half the time of products of numbers split in TF32.
//
// Products of matrices may have x[INPUTS][images] (X_ACROSS), and TURNED results.
//
// x[images][INPUTS]; weights[OUTPUTS][INPUTS]; row_scales[OUTPUTS], one for each output's weights;
// numbers[output tiles][SLICES][2 numbers][INSTRUCTIONS][2][TILE_O / 8][8] pieces of 16 bytes in
// float16, zeros around the weights; bias[OUTPUTS]; out[images][OUTPUTS]; with several parts
// partial[PARTS][images beyond `whole`][OUTPUTS] between the kernels, and what these may miss.
// Grid: clusters along x.  Block: the warpgroup that copies, then WARPGROUPS that multiply.

#pragma once

#include "gemm/gpu/warpgroups/copies.h"
#include "gemm/gpu/warpgroups/results.h"
#include "gemm/gpu/warpgroups/split_slices.h"

#define RUNS (TILE_O / SUM_O)
// Launches may overlap the end of those before.
#if OVERLAPS
#define WAIT_WHERE_OVERLAPPING() GRIDDEPCONTROL_WAIT(); GRIDDEPCONTROL_LAUNCH()
#else
#define WAIT_WHERE_OVERLAPPING()
#endif

// A warpgroup sums up a tile over its slices.  The next slice is taken while the last products of
// one are on their way.
__device__ __forceinline__ void accumulate(float total[TILE_O / 2], struct row rows[2],
                                           struct work work, unsigned stages, unsigned barriers,
                                           struct pipeline_state* pipe)
{
    unsigned place = stages + place_of_lane();
    UNROLL for (int e = 0; e < TILE_O / 2; e++) total[e] = 0.0f;
    UNROLL for (int r = 0; r < 2; r++) rows[r].most = rows[r].small = 0.0f;
    if (work.slice >= work.end) return;
    struct slice slice;
    consumer_wait(barriers, *pipe);
    take(place + pipe->stage * STAGE_BYTES, &slice, rows);
    ROLLED for (int s = work.slice; s < work.end; s++) {
        struct fragments a;
        split(&slice, &a);
        float back[2] = {over(-14, slice.scale[0]), over(-14, slice.scale[1])};
        unsigned weights = stages + pipe->stage * STAGE_BYTES + ROWS * 128;
        unsigned taken = EMPTY_BARRIER(barriers, pipe->stage, STAGES);
        float sum[2][SUM_O / 2];
        UNROLL for (int run = 0; run < RUNS; run++) {
            begin(sum[run % 2], &a, weights + run * SUM_O * 16);
            if (run == 0) continue;
            WGMMA_WAIT_FOR(sum[(run - 1) % 2], a, 1);
            add(total + (run - 1) * (SUM_O / 2), sum[(run - 1) % 2], back);
        }
        advance(pipe, STAGES);
        if (s + 1 < work.end) {
            consumer_wait(barriers, *pipe);
            take(place + pipe->stage * STAGE_BYTES, &slice, rows);
        }
        WGMMA_WAIT_FOR(sum[(RUNS - 1) % 2], a, 0);
        cluster_consumer_release(&taken);
        add(total + (RUNS - 1) * (SUM_O / 2), sum[(RUNS - 1) % 2], back);
    }
}

// Computes a strip's results that are NaN anew.
__device__ __forceinline__ void mend_strip(const float* x, const float* weights, const float* bias,
                                           float* out, const float sum[SUMS_AT_ONCE], int first,
                                           int images, int output)
{
    unsigned doubtful = 0;
    UNROLL for (int e = 0; e < SUMS_AT_ONCE; e++) {
        int n = first + DOWN(e), o = output + COLUMN_OF(e);
        if (sum[e] != sum[e] && n < images && o < OUTPUTS) doubtful |= 1u << e;
    }
    unsigned left = __reduce_or_sync(~0u, doubtful);
    ROLLED for (; left; left &= left - 1) {
        int e = __ffs(left) - 1;
        mend(x, weights, bias, out, first + DOWN(e), output + COLUMN_OF(e), doubtful >> e & 1);
    }
}

#if TURNED
// Stores a lane's sums of a strip of `images` rows in all, the first of which is `first`.
__device__ __forceinline__ void store_turned(const float sum[SUMS_AT_ONCE], float* out, int64 first,
                                             int64 images, int output)
{
    UNROLL for (int e = 0; e < SUMS_AT_ONCE; e++) {
        int64 n = first + DOWN(e);
        int o = output + COLUMN_OF(e);
        if (n < images && o < OUTPUTS) out[o * images + n] = sum[e];
    }
}
#endif

// Scales a strip's sums back; those in doubt become NaN, see `join_parts` for sums of parts.
__device__ __forceinline__ void scale_back(float sum[SUMS_AT_ONCE], const struct row rows[2],
                                           const struct row_scale* row_scales, int output)
{
    UNROLL for (int e = 0; e < SUMS_AT_ONCE; e++) {
        int o = output + COLUMN_OF(e);
        // Outputs beyond the last have no scale of their own; they are not stored.
        sum[e] = scaled_back(sum[e], rows[e / 2 % 2], row_scales[o < OUTPUTS ? o : 0]);
    }
}

#if PARTS > 1
// Scales what a part has summed up of a strip back, and stores it.
__device__ __forceinline__ void store_of_part(float sum[SUMS_AT_ONCE], const struct row_scale* row_scales,
                                              float* partial, int part, int64 first, int images,
                                              int whole, int output)
{
    int64 before = (int64)whole * ROWS, rest = images - before;
    partial += part * rest * OUTPUTS;
    UNROLL for (int e = 0; e < SUMS_AT_ONCE; e++) {
        int o = output + COLUMN_OF(e);
        sum[e] *= row_scales[o < OUTPUTS ? o : 0].unit;
    }
#if TURNED
    store_turned(sum, partial, first - before, rest, output);
#else
    store_part(sum, partial, first - before, rest, output);
#endif
}

// Stores what a lane's rows of a part may miss behind the sums of all parts, as
// [2][PARTS][images beyond `whole`].
__device__ __forceinline__ void store_missed(const struct row rows[2], float* partial, int part,
                                             int64 first, int images, int whole)
{
    int64 before = (int64)whole * ROWS, rest = images - before;
    partial += (PARTS * OUTPUTS + part) * rest;
    UNROLL for (int r = 0; r < 2; r++) {
        int64 n = first - before + r * NEXT_ROW;
        if (n >= rest) continue;
        partial[n] = missed_of_row(rows[r]);
        partial[PARTS * rest + n] = missed_of_weight(rows[r]);
    }
}
#endif

// Makes results of a strip's sums.
__device__ __forceinline__ void finish_strip(float sum[SUMS_AT_ONCE], const float* x, const float* weights,
                                             const float* bias, float* out, int64 first,
                                             int images, int output)
{
    bool sure = true;
    UNROLL for (int e = 0; e < SUMS_AT_ONCE; e++) sure = sure && sum[e] == sum[e];
#if TURNED
    store_turned(sum, out, first, images, output);
#else
    store_strip(sum, bias, out, first, images, output);
#endif
    if (__any_sync(~0u, !sure)) mend_strip(x, weights, bias, out, sum, first, images, output);
}

#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__global__ __launch_bounds__(THREADS, BLOCKS) void FAMILY(
    const __grid_constant__ tensor_map rows, const float* __restrict__ x,
    const float* __restrict__ weights, const struct row_scale* __restrict__ row_scales,
    const element* __restrict__ numbers, const float* __restrict__ bias, float* out, float* partial,
    int images, int whole, int works)
{
    extern __shared__ __align__(1024) char shared[];
    unsigned stages = (unsigned)__cvta_generic_to_shared(shared);
    unsigned barriers = init_pipeline(stages);
    WAIT_WHERE_OVERLAPPING();
    if (threadIdx.x < 128) {
#if CONSUMER_REGISTERS
        SETMAXNREG_DEC(24);
#endif
        if (threadIdx.x == 0) fetch(&rows, numbers, stages, barriers, whole, works);
    } else {
#if CONSUMER_REGISTERS
        SETMAXNREG_INC(CONSUMER_REGISTERS);
#endif
        struct pipeline_state pipe = {0, 0};
        for (int number = blockIdx.x / CLUSTER; number < works; number += gridDim.x / CLUSTER) {
            struct work work = work_of(number, whole);
            float sum[TILE_O / 2];
            struct row two[2];
            accumulate(sum, two, work, stages, barriers, &pipe);
            UNROLL for (int r = 0; r < 2; r++) two[r] = whole_row(two[r]);
            int64 first = work.image + row_of_lane();
            int output = work.output + threadIdx.x % 4 * 2;
#if PARTS > 1
            if (work.part >= 0 && output == 0) store_missed(two, partial, work.part, first, images, whole);
#endif
            ROLLED for (int e = 0; e < TILE_O / 2; e += SUMS_AT_ONCE, output += 2 * SUMS_AT_ONCE) {
#if PARTS > 1
                if (work.part >= 0)
                    store_of_part(sum, row_scales, partial, work.part, first, images, whole, output);
                else
#endif
                {
                    scale_back(sum, two, row_scales, output);
                    finish_strip(sum, x, weights, bias, out, first, images, output);
                }
                next_strip(sum);
            }
        }
    }
    // No block ends while another may still tell it of a stage.
    sync_sharers();
}

#if PARTS > 1
// Computes results from their definition, one after another by all threads of the block: the lines
// of an x stored across are far apart, and a single warp would wait for them many times. Each
// thread brings one that is in doubt, or none.
__device__ __forceinline__ void mend_together(const float* x, const float* weights,
                                              const float* bias, float* out, int n, int output,
                                              bool doubtful)
{
    __shared__ int images[PACK_THREADS], outputs[PACK_THREADS], count;
    __shared__ float joined[PACK_THREADS / 32];
    if (!__syncthreads_or(doubtful)) return;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (doubtful) {
        int at = atomicAdd(&count, 1);
        images[at] = n, outputs[at] = output;
    }
    __syncthreads();
    ROLLED for (int d = 0; d < count; d++) {
        const float* row = row_of(x, images[d]);
        const float* with = weights_of(weights, outputs[d]);
        float sum = 0.0f;
        UNROLL_BY(4) for (int k = threadIdx.x * 4; k < INPUTS; k += 4 * PACK_THREADS) {
            float4 a = four_of_row(row, k), b = four_weights(with, k);
            sum += a.x * b.x + a.y * b.y + (a.z * b.z + a.w * b.w);
        }
        UNROLL for (int apart = 1; apart < 32; apart *= 2) sum += __shfl_xor_sync(~0u, sum, apart);
        if (threadIdx.x % 32 == 0) joined[threadIdx.x / 32] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            float whole = BIAS(bias[outputs[d]]);
            UNROLL for (int warp = 0; warp < PACK_THREADS / 32; warp++) whole += joined[warp];
            out[place_of_result(images[d], outputs[d])] = activate(whole);
        }
        __syncthreads();
    }
}

// The sum of a result's parts.  In doubt, and NaN, is one where what small numbers miss may reach a
// unit in the last place of all parts: float32 loses as much when it adds them.  One part may well be
// zero, where its weights are.
__device__ __forceinline__ float join_parts(const float* partial, int64 result, int64 results,
                                            int64 image, int64 rest, struct row_scale row_scale)
{
    const float *of_row = partial + PARTS * results + image, *of_weight = of_row + PARTS * rest;
    float sum = 0.0f, size = 0.0f, missed = 0.0f;
    UNROLL for (int part = 0; part < PARTS; part++) {
        float one = partial[part * results + result];
        sum += one, size += fabsf(one);
        missed += of_row[part * rest];
        if (row_scale.small > 0.0f) missed = fmaf(of_weight[part * rest], row_scale.small, missed);
    }
    return size >= missed * row_scale.unit ? finite(sum) : __int_as_float(0x7fffffff);
}

// Adds the parts' sums.  Grid: x over the results of images that have parts.
__global__ __launch_bounds__(PACK_THREADS) void KERNEL(finish)(
    const float* __restrict__ x, const float* __restrict__ weights,
    const struct row_scale* __restrict__ row_scales, const float* __restrict__ partial,
    const float* __restrict__ bias, float* __restrict__ out, int images, int whole)
{
    WAIT_WHERE_OVERLAPPING();
    int64 before = (int64)whole * ROWS, rest = images - before, results = rest * OUTPUTS;
    int64 e = (int64)blockIdx.x * PACK_THREADS + threadIdx.x;
    int n = before + (TURNED ? e % rest : e / OUTPUTS), output = TURNED ? e / rest : e % OUTPUTS;
    float sum = 0.0f;
    if (e < results) {
        sum = join_parts(partial, e, results, n - before, rest, row_scales[output]);
        out[place_of_result(n, output)] = activate(sum + BIAS(bias[output]));
    }
    mend_together(x, weights, bias, out, n, output, sum != sum);
}
#endif
