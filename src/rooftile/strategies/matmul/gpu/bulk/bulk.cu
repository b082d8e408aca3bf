// bulk: both matrices unpacked, in the cores' type, from shared memory.
//
// In `warpgroups`, b is packed before, and a is loaded to shared memory in float32 and passes
// through registers; that takes more of the cache's and of shared memory's bandwidth than the
// products leave. Here the copy engine brings boxes of both matrices, swizzled. Products of 16 bits
// read either order from shared memory: of a matrix whose lines are terms, a box has all terms of a
// slice for 64 rows or columns. Of numbers of 32 bits, which they read in one order alone, the left
// matrix passes through registers where its lines are terms; where both matrices' lines are, the
// smaller one is transposed before (TURNS).
// A product may be SWAPPED: the left matrix is b transposed, and the right one a transposed; only
// names are swapped for that. So the few rows of a become a tile's columns, which may be few.
// Blocks of a cluster share their loads: ROW_BLOCKS of them down have the same columns,
// COLUMN_BLOCKS across the same rows. Or they share a tile's terms in PARTS.
// What it removes: registers, conversions and half of the copies on the way of a.
//
// left[rows][inner], right[inner][columns] of the tile's matrix, that is a and b, or b and a; out: see
// operands.h.  Lines of a and b are whole 16 bytes.
// Grid: clusters along x.  Block: the warpgroup that copies, then WARPGROUPS that multiply.

#define FAMILY bulk
#include "common/narrow.h"

#define STORED_LANES 0
#define STORED_PIECES 1
#define PARTED 2

#define NUMBERS 1
#define PIECE_BYTES (CHUNK * 64 * (OUT_NARROW ? 2 : 4))

#include "matmul/gpu/bulk/slices.h"
#include "matmul/gpu/bulk/products.h"
#include "matmul/gpu/bulk/results.h"
#if TURNS
#include "matmul/gpu/turn.h"
#endif

#if !X_NARROW && CORES != TF32
// Rounds eight neighbours of a, or of b where a ends.  Grid: x over eights of both.
__global__ __launch_bounds__(ROUND_THREADS) void bulk_round_both(const given* __restrict__ a,
                                                                 const given* __restrict__ b,
                                                                 uint4* __restrict__ narrow_a,
                                                                 uint4* __restrict__ narrow_b,
                                                                 int64 of_a, int64 of_b)
{
    int64 e = (int64)blockIdx.x * ROUND_THREADS + threadIdx.x;
    if (e >= of_a + of_b) return;
    bool in_a = e < of_a;
    int64 at = in_a ? e : e - of_a;
    const float4* from = (const float4*)(in_a ? a : b) + 2 * at;
    float4 first = from[0], next = from[1];
    (in_a ? narrow_a : narrow_b)[at] = make_uint4(pack(first.x, first.y), pack(first.z, first.w),
                                                  pack(next.x, next.y), pack(next.z, next.w));
}
#endif

#if CLUSTER_BLOCKS > 1
__cluster_dims__(CLUSTER_BLOCKS, 1, 1)
#endif
__global__ __launch_bounds__(THREADS, BLOCKS) void bulk(
    const __grid_constant__ tensor_map left, const __grid_constant__ tensor_map right,
    result* __restrict__ out, int rows, int inner, int columns, int down, int across)
{
    extern __shared__ __align__(1024) char shared[];
    unsigned stages = (unsigned)__cvta_generic_to_shared(shared);
    if (threadIdx.x == 0) prefetch_tensormap(&left), prefetch_tensormap(&right);
    unsigned barriers = init_pipeline(stages);
    GRIDDEPCONTROL_WAIT();
    GRIDDEPCONTROL_LAUNCH();
    int slices = (inner + SLICE - 1) / SLICE;
    if (threadIdx.x < 128) {
#if CONSUMER_REGISTERS
        SETMAXNREG_DEC(24);
#endif
        const struct matrices both[] = {{&left, &right}};
        if (threadIdx.x == 0) fetch(both, stages, barriers, slices, down, across);
#if CLUSTER_BLOCKS > 1
        __syncwarp();
        cluster_arrive();
#endif
#if STORING == PARTED
        cluster_sync();
        cluster_sync_relaxed();
#endif
    } else {
#if CONSUMER_REGISTERS
        SETMAXNREG_INC(CONSUMER_REGISTERS);
#endif
        struct pipeline_state pipe = {0, 0};
        for (int number = FIRST_NUMBER; number < down * across; number += CLUSTERS) {
            struct work work = work_of(number, down, across, slices);
            float sum[SUMS];
            accumulate(sum, work, stages, barriers, &pipe);
            if (number + CLUSTERS >= down * across) cluster_arrive();
#if STORING == STORED_PIECES
            store(sum, out, shared + STAGES * (STAGE_BYTES + 16), work, rows, columns);
#elif STORING == STORED_LANES
            store(sum, out, work, rows, columns);
#else
            // All products have been made before stages are written over.
            meet_warpgroups();
            hold(sum, (float*)shared);
            cluster_sync();
            add_parts((float*)shared, out, work, rows, columns);
            cluster_sync_relaxed();
#endif
        }
    }
    // No block ends while another may still tell it of a stage.
    cluster_wait();
}
