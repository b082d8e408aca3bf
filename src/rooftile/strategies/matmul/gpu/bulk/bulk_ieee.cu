// bulk_ieee: float32 as two numbers of scaled float16, both matrices split before.
//
// In warpgroups_ieee and turned_ieee every tile splits its rows anew, in registers, while the cores
// wait; only one of the matrices is split once.  Here one launch splits both, with terms beside each
// other, and the product is that of bulk_fp16 with stages of four planes, high and low numbers of both
// matrices: three products stand for one.  Low numbers are scaled by 2^11 more than high ones, so hardly any
// is too small for float16, and products with them have sums of their own.  Cores cut sums off, so
// the sum of a slice's high numbers, which is short, is added to the total in float32, while the
// other warpgroup's products go on; what is cut off sums with low numbers is too little to count.
// What it removes: all but one in a tile's splits of an element, and registers on their way.
//
// See bulk.cu for tiles and clusters.  Results in doubt (common/scaled_numbers.h) are computed from
// a and b.

#define FAMILY bulk_ieee
#include "common/narrow.h"

#define LANES 0
#define PIECES 1
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
    begin_products();
    UNROLL for (int step = 0; step < 4; step++)
        WGMMA(sum, a + step * LEFT_STEP, b + step * RIGHT_STEP, step > 0);
    end_products();
    UNROLL for (int step = 0; step < 4; step++)
        WGMMA(with_low, a + step * LEFT_STEP, b + LOW + step * RIGHT_STEP, 1);
    UNROLL for (int step = 0; step < 4; step++)
        WGMMA(with_low, a + LOW + step * LEFT_STEP, b + step * RIGHT_STEP, 1);
    end_products();
}

__device__ __forceinline__ void accumulate(float total[SUMS], struct work work, unsigned stages,
                                           unsigned barriers, struct turn* turn)
{
    int group = of_warp(threadIdx.x / 128) - 1;
    unsigned taken = 0;
    float with_low[SUMS];
    UNROLL for (int e = 0; e < SUMS; e++) total[e] = with_low[e] = 0.0f;
    ROLLED for (int s = work.slice; s < work.end; s++, advance(turn, STAGES)) {
        unsigned stage = of_warp(stages + turn->at * STAGE_BYTES);
        wait(FULL(barriers, turn->at), turn->round);
        float sum[SUMS];
        begin(sum, with_low, rows_at(stage + group * 64 * 128), columns_at(stage + A_BYTES));
        // The products of the slice before are done, and so is its stage.
        COMPLETE(sum, 1);
        leave(&taken);
        taken = EMPTY(barriers, turn->at, STAGES);
        UNROLL for (int e = 0; e < SUMS; e++) total[e] += sum[e];
    }
    COMPLETE(with_low, 0);
    leave(&taken);
    UNROLL for (int e = 0; e < SUMS; e++) total[e] = fmaf(with_low[e], 0x1p-11f, total[e]);
}

// Waits for the launch that splits.  The next one begins when this one is over: its blocks would crowd
// on the few multiprocessors that have none of these.
__device__ __forceinline__ void await_split()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__global__ __launch_bounds__(THREADS, BLOCKS) void bulk_ieee(
    const __grid_constant__ tensor_map left_high, const __grid_constant__ tensor_map right_high,
    const __grid_constant__ tensor_map left_low, const __grid_constant__ tensor_map right_low,
    const float* __restrict__ a, const float* __restrict__ b,
    const struct span* __restrict__ spans_a, const struct span* __restrict__ spans_b,
    float* __restrict__ out, int rows, int inner, int columns, int down, int across)
{
    extern __shared__ __align__(1024) char shared[];
    unsigned stages = (unsigned)__cvta_generic_to_shared(shared);
    if (threadIdx.x == 0) {
        ask_for(&left_high), ask_for(&right_high);
        ask_for(&left_low), ask_for(&right_low);
    }
    unsigned barriers = set_up(stages);
    await_split();
    int slices = (inner + SLICE - 1) / SLICE;
    if (threadIdx.x < 128) {
#if CONSUMER_REGISTERS
        FEWER_REGISTERS(24);
#endif
        const struct matrices numbers[] = {{&left_high, &right_high}, {&left_low, &right_low}};
        if (threadIdx.x == 0) fetch(numbers, stages, barriers, slices, down, across);
        __syncwarp();
        leave_cluster();
    } else {
#if CONSUMER_REGISTERS
        MORE_REGISTERS(CONSUMER_REGISTERS);
#endif
        struct turn turn = {0, 0};
        struct spans* all = (struct spans*)(shared + STAGES * (STAGE_BYTES + 16));
        struct spans* spans = all + threadIdx.x / 128 - 1;
        for (int number = FIRST_NUMBER; number < down * across; number += CLUSTERS) {
            struct work work = work_of(number, down, across, slices);
            ask_for_spans(spans, spans_a, spans_b, work, rows, columns);
            float sum[SUMS];
            accumulate(sum, work, stages, barriers, &turn);
            if (number + CLUSTERS >= down * across) leave_cluster();
            await_spans();
            scale_back(sum, spans);
            store(sum, out, work, rows, columns);
            bool sure = true;
            UNROLL for (int e = 0; e < SUMS; e++) sure = sure && sum[e] == sum[e];
            if (__any_sync(~0u, !sure)) mend_tile(sum, a, b, out, work, rows, inner, columns);
        }
    }
    // No block ends while another may still tell it of a stage.
    await_cluster();
}
