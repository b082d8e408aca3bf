// Rungs 28 and 29, bulk: both matrices in 16 bits, as they lie, from shared memory alone.
//
// In `warpgroups`, a comes to shared memory in float32 and passes through registers; that takes more
// of the cache's and of shared memory's bandwidth than the products leave.  Here a first kernel
// rounds both matrices, each number where it is: nothing is turned; and none need be rounded where
// the caller's have 16 bits.  The copy engine brings boxes of
// them, swizzled, and products of 16 bits read either order from shared memory: of a matrix whose
// lines are terms, a box has all terms of a slice for 64 rows or columns.  The CLUSTER blocks of a
// cluster have the same columns of b: each brings a share of them to all.  Tiles are taken in groups
// of GROUP across, so that what all blocks read at a time stays in the cache.
// What it removes: registers, conversions and half of the copies on the way of a.
//
// a, b, out: see matmul.h; narrow_a and narrow_b: the same in the cores' type, else themselves.  Lines of both are
// whole 16 bytes.
// Grid: clusters along x.  Block: the warpgroup that copies, then WARPGROUPS that multiply.

#include "common/narrow.h"

#define SLICE 64
#define TILE_R (64 * WARPGROUPS)
#define A_BYTES (TILE_R * 128)
#define STAGE_BYTES (A_BYTES + TILE_C * 128)
#define BOX_BYTES (SLICE * 128)
#define THREADS (128 * (WARPGROUPS + 1))
#define GROUP 8

#include "common/clusters.h"
#include "common/warpgroups.h"
#include "matmul/gpu/matmul.h"

#if !X_NARROW
// Rounds eight neighbours of a, or of b where a ends.  Grid: x over eights of both.
__global__ __launch_bounds__(ROUND_THREADS) void round_both(const given* __restrict__ a,
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

// First row and column of a block's tile.
struct work { int row, column; };

// The tile of a cluster's number: groups of columns one after another, in each of them row by row.
__device__ __forceinline__ struct work work_of(int number, int down, int across)
{
    int group = number / (GROUP * down), first = group * GROUP;
    int width = min(GROUP, across - first), within = number - first * down;
    struct work work;
    work.row = (within / width * CLUSTER + rank_in_cluster()) * TILE_R;
    work.column = (first + within % width) * TILE_C;
    return work;
}

// Starts this block's copies of a slice: its rows of a, and its share of b, to all.
__device__ __forceinline__ void start_slice(const tensor_map* a, const tensor_map* b,
                                            unsigned stage, unsigned full, struct work work, int k)
{
#if TRANSPOSE_A
    UNROLL for (int box = 0; box < WARPGROUPS; box++)
        copy_box_2(stage + box * BOX_BYTES, a, work.row + 64 * box, k, full);
#else
    copy_box_2(stage, a, k, work.row, full);
#endif
    const int share = TILE_C / CLUSTER;
    int first = rank_in_cluster() * share;
    stage += A_BYTES + first * 128;
#if TRANSPOSE_B
    copy_box_to_all(stage, b, k, work.column + first, full);
#else
    UNROLL for (int box = 0; box < share / 64; box++)
        copy_box_to_all(stage + box * BOX_BYTES, b, work.column + first + 64 * box, k, full);
#endif
}

// The descriptors of a warpgroup's rows of a stage, and of its columns; and how far, in 16 bytes, the
// next instruction's terms lie.
__device__ __forceinline__ word rows_at(unsigned address)
{
    address &= 0x3ffff;
    return TRANSPOSE_A ? matrix_across(address, BOX_BYTES, 1024) : matrix(address, 1024);
}
__device__ __forceinline__ word columns_at(unsigned address)
{
    address &= 0x3ffff;
    return TRANSPOSE_B ? matrix(address, 1024) : matrix_across(address, BOX_BYTES, 1024);
}
#define A_STEP (TRANSPOSE_A ? 128 : 2)
#define B_STEP (TRANSPOSE_B ? 2 : 128)

// A warpgroup sums up a tile.
__device__ __forceinline__ void accumulate(float sum[TILE_C / 2], int slices, unsigned stages,
                                           unsigned barriers, struct turn* turn)
{
    int group = threadIdx.x / 128 - 1;
    unsigned taken = 0;
    UNROLL for (int e = 0; e < TILE_C / 2; e++) sum[e] = 0.0f;
    ROLLED for (int s = 0; s < slices; s++, advance(turn, STAGES)) {
        wait(FULL(barriers, turn->at), turn->round);
        unsigned stage = stages + turn->at * STAGE_BYTES;
        word a = rows_at(stage + group * 64 * 128), b = columns_at(stage + A_BYTES);
        begin_products();
        UNROLL for (int step = 0; step < SLICE / 16; step++)
            WGMMA(sum, a + step * A_STEP, b + step * B_STEP, 1);
        end_products();
        // The products of the slice before are done, and so is its stage.
        IN_FLIGHT(1);
        leave(&taken);
        taken = EMPTY(barriers, turn->at, STAGES);
    }
    IN_FLIGHT(0);
    leave(&taken);
}

// Stores a lane's results: of every eight columns two neighbours, in two rows.
__device__ __forceinline__ void store(const float sum[TILE_C / 2], result* out, int row, int column,
                                      int rows, int columns)
{
    UNROLL for (int e = 0; e < TILE_C / 2; e += 2) {
        int i = row + ROW_OF(e), j = column + COLUMN_OF(e);
        if (i >= rows || j >= columns) continue;
        result* to = out + (size_t)i * columns + j;
#if PAIRED
        *(result_2*)to = RESULT_2(sum[e], sum[e + 1]);
#else
        to[0] = RESULT(sum[e]);
        if (j + 1 < columns) to[1] = RESULT(sum[e + 1]);
#endif
    }
}

#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__global__ __launch_bounds__(THREADS, 1) void matmul(const __grid_constant__ tensor_map a,
                                                     const __grid_constant__ tensor_map b,
                                                     result* __restrict__ out, int rows, int inner,
                                                     int columns, int down, int across)
{
    extern __shared__ __align__(1024) char shared[];
    unsigned stages = (unsigned)__cvta_generic_to_shared(shared);
    unsigned barriers = set_up(stages);
    int slices = (inner + SLICE - 1) / SLICE, works = down * across;
    struct turn turn = {0, 0};
    if (threadIdx.x < 128) {
#if CONSUMER_REGISTERS
        FEWER_REGISTERS(24);
#endif
        for (int number = blockIdx.x / CLUSTER; number < works && threadIdx.x == 0;
             number += gridDim.x / CLUSTER) {
            struct work work = work_of(number, down, across);
            ROLLED for (int s = 0; s < slices; s++, advance(&turn, STAGES)) {
                unsigned full = FULL(barriers, turn.at);
                wait(EMPTY(barriers, turn.at, STAGES), turn.round ^ 1);
                expect_bytes(STAGE_BYTES, full);
                start_slice(&a, &b, stages + turn.at * STAGE_BYTES, full, work, s * SLICE);
            }
        }
    } else {
#if CONSUMER_REGISTERS
        MORE_REGISTERS(CONSUMER_REGISTERS);
#endif
        int row = threadIdx.x / 32 * 16 - 64 + threadIdx.x % 32 / 4;
        for (int number = blockIdx.x / CLUSTER; number < works; number += gridDim.x / CLUSTER) {
            struct work work = work_of(number, down, across);
            float sum[TILE_C / 2];
            accumulate(sum, slices, stages, barriers, &turn);
            store(sum, out, work.row + row, work.column + threadIdx.x % 4 * 2, rows, columns);
        }
    }
    // No block ends while another may still tell it of a stage.
    meet_cluster();
}
