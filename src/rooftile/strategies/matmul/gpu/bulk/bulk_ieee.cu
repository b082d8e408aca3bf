// bulk_ieee: float32 as two numbers of scaled float16, both matrices split before.
//
// In warpgroups_ieee and turned_ieee every tile splits its rows anew, in registers, while the cores
// wait; only one of the matrices is split once. Here one launch splits both, with terms adjacent,
// and the product is bulk_fp16's with stages of four planes, high and low numbers of both matrices:
// three products stand for one. Low numbers are scaled by 2^11 more than high ones, so hardly any
// is too small for float16, and products with them have sums of their own. Cores cut sums off, so
// the sum of a slice's high numbers, which is short, is added to the total in float32, while the
// other warpgroup's products go on; the parts cut off sums with low numbers are too small to count.
// What it removes: all but one in a tile's splits of an element, and registers on their way.
//
// See bulk.cu for tiles and clusters.  Results in doubt (common/scaled_numbers.h) are computed from
// a and b.

#define FAMILY bulk_ieee
#include "common/narrow.h"

#define STORED_LANES 0
#define STORED_PIECES 1
#define PARTED 2
#define NUMBERS 2
#define PARTS 1

#include "matmul/gpu/bulk/slices.h"
#include "matmul/gpu/bulk/mend.h"
#include "matmul/gpu/bulk/split.h"

// From a descriptor of high numbers to that of the low ones.
#define LOW (PLANE_BYTES >> 4)

// Begins the products of a slice: first those that sum up to `sum`.
__device__ __forceinline__ void begin(float sum[SUMS], float with_low[SUMS], word a, word b)
{
    wgmma_fence();
    UNROLL for (int step = 0; step < 4; step++)
        WGMMA(sum, a + step * LEFT_STEP, b + step * RIGHT_STEP, step > 0);
    wgmma_commit();
    UNROLL for (int step = 0; step < 4; step++)
        WGMMA(with_low, a + step * LEFT_STEP, b + LOW + step * RIGHT_STEP, 1);
    UNROLL for (int step = 0; step < 4; step++)
        WGMMA(with_low, a + LOW + step * LEFT_STEP, b + step * RIGHT_STEP, 1);
    wgmma_commit();
}

__device__ __forceinline__ void accumulate(float total[SUMS], struct work work, unsigned stages,
                                           unsigned barriers, struct pipeline_state* pipe)
{
    int group = of_warp(threadIdx.x / 128) - 1;
    unsigned taken = 0;
    float with_low[SUMS];
    UNROLL for (int e = 0; e < SUMS; e++) total[e] = with_low[e] = 0.0f;
    ROLLED for (int s = work.slice; s < work.end; s++, advance(pipe, STAGES)) {
        unsigned stage = of_warp(stages + pipe->stage * STAGE_BYTES);
        consumer_wait(barriers, *pipe);
        float sum[SUMS];
        begin(sum, with_low, rows_at(stage + group * 64 * 128), columns_at(stage + A_BYTES));
        // The products of the slice before are done, and so is its stage.
        WGMMA_WAIT_FOR(sum, 1);
        cluster_consumer_release(&taken);
        taken = EMPTY_BARRIER(barriers, pipe->stage, STAGES);
        UNROLL for (int e = 0; e < SUMS; e++) total[e] += sum[e];
    }
    WGMMA_WAIT_FOR(with_low, 0);
    cluster_consumer_release(&taken);
    UNROLL for (int e = 0; e < SUMS; e++) total[e] = fmaf(with_low[e], 0x1p-11f, total[e]);
}

#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__global__ __launch_bounds__(THREADS, BLOCKS) void bulk_ieee(
    const __grid_constant__ tensor_map left_high, const __grid_constant__ tensor_map right_high,
    const __grid_constant__ tensor_map left_low, const __grid_constant__ tensor_map right_low,
    const float* __restrict__ a, const float* __restrict__ b,
    const struct row_scale* __restrict__ row_scales_a, const struct row_scale* __restrict__ row_scales_b,
    float* __restrict__ out, int rows, int inner, int columns, int down, int across)
{
    extern __shared__ __align__(1024) char shared[];
    unsigned stages = (unsigned)__cvta_generic_to_shared(shared);
    if (threadIdx.x == 0) {
        prefetch_tensormap(&left_high), prefetch_tensormap(&right_high);
        prefetch_tensormap(&left_low), prefetch_tensormap(&right_low);
    }
    unsigned barriers = init_pipeline(stages);
    // The launch that splits.  The next one begins when this one is over: its blocks would crowd on the
    // few multiprocessors that have none of these.
    GRIDDEPCONTROL_WAIT();
    int slices = (inner + SLICE - 1) / SLICE;
    if (threadIdx.x < 128) {
#if CONSUMER_REGISTERS
        SETMAXNREG_DEC(24);
#endif
        const struct matrices numbers[] = {{&left_high, &right_high}, {&left_low, &right_low}};
        if (threadIdx.x == 0) fetch(numbers, stages, barriers, slices, down, across);
        __syncwarp();
        cluster_arrive();
    } else {
#if CONSUMER_REGISTERS
        SETMAXNREG_INC(CONSUMER_REGISTERS);
#endif
        struct pipeline_state pipe = {0, 0};
        struct row_scales* all = (struct row_scales*)(shared + STAGES * (STAGE_BYTES + 16));
        struct row_scales* row_scales = all + threadIdx.x / 128 - 1;
        for (int number = FIRST_NUMBER; number < down * across; number += CLUSTERS) {
            struct work work = work_of(number, down, across, slices);
            ask_for_spans(row_scales, row_scales_a, row_scales_b, work, rows, columns);
            float sum[SUMS];
            accumulate(sum, work, stages, barriers, &pipe);
            if (number + CLUSTERS >= down * across) cluster_arrive();
            await_spans();
            scale_back(sum, row_scales);
            store(sum, out, work, rows, columns);
            bool sure = true;
            UNROLL for (int e = 0; e < SUMS; e++) sure = sure && sum[e] == sum[e];
            if (__any_sync(~0u, !sure)) mend_tile(sum, a, b, out, work, rows, inner, columns);
        }
    }
    // No block ends while another may still tell it of a stage.
    cluster_wait();
}
