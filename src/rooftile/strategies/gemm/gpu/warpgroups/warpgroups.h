// The matrix product on Hopper's warpgroups and bulk copy engine.
//
// Each of WARPGROUPS warpgroups multiplies 64 images by a block's TILE_O outputs. One thread more
// keeps a ring of stages full. A stage holds a slice of x in its own order, 128 bytes of every
// image, and that slice's weights, which a first kernel has packed as the cores read them. A
// warpgroup takes its images to registers by 16-byte loads without bank conflicts and makes them
// the cores' type there, once for all outputs; it reads the weights from shared memory. The order
// of an instruction's inputs is free as long as both sides agree: a lane takes neighbours, and the
// weights are packed accordingly. The CLUSTER blocks of a cluster have the same images: each brings
// a share of them to all. Blocks stay and take tile after tile. The images beyond `whole` would
// leave most multiprocessors idle: there each of PARTS blocks takes a part of a tile's inputs, and
// `finish` adds their sums.
// What it removes: instructions that load and issue, half the reads of x, the last half-empty
// round.
//
// x[images][INPUTS] in float or, with X_NARROW, in the cores' own type; weights[OUTPUTS][INPUTS];
// rounded[output tiles][SLICES][INSTRUCTIONS][2][TILE_O / 8][8] pieces of 16 bytes in the cores'
// type, zeros around the weights; bias[OUTPUTS]; out[images][OUTPUTS] in float or, with OUT_NARROW,
// in the cores' own type; with several parts partial[PARTS][images beyond `whole`][OUTPUTS] between
// the kernels.
// Grid: clusters along x.  Block: the warpgroup that copies, then WARPGROUPS that multiply.

#pragma once

#include "gemm/gpu/warpgroups/copies.h"
#include "gemm/gpu/warpgroups/results.h"

// Reads a row's words of a piece from 16 bytes; two floats become one word of 16-bit elements.
__device__ __forceinline__ void load_row(unsigned place, unsigned held[INSTRUCTIONS])
{
    unsigned words[4];
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(place)
                 : "memory");
    UNROLL for (int e = 0; e < INSTRUCTIONS; e++) {
#if X_NARROW
        held[e] = words[e];
#elif CORES != TF32
        held[e] = pack(__uint_as_float(words[2 * e]), __uint_as_float(words[2 * e + 1]));
#else
        held[e] = __float_as_uint(tf32(__uint_as_float(words[e])));
#endif
    }
}

// Adds a piece's products to the sums.
__device__ __forceinline__ void multiply(float sum[TILE_O / 2], unsigned above[INSTRUCTIONS],
                                         unsigned below[INSTRUCTIONS], unsigned weights)
{
    word b = weights_at(weights);
    UNROLL for (int s = 0; s < INSTRUCTIONS / 2; s++)
        WGMMA(sum, above[2 * s], below[2 * s], above[2 * s + 1], below[2 * s + 1],
              b + s * 2 * TILE_O, 1);
}

// A warpgroup sums up a tile over its slices.  HELD pieces of its images are in registers: products
// of one are on their way while the next is made.
__device__ __forceinline__ void accumulate(float sum[TILE_O / 2], struct work work,
                                           unsigned stages, unsigned barriers, struct pipeline_state* pipe)
{
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 - 64 + lane / 4;
    // Rows eight apart are swizzled alike, and the next piece is the other 16 bytes of 32.
    unsigned place = row * 128 + ((lane % 4 * 2) ^ (row % 8)) * 16, taken = 0;
    unsigned above[HELD][INSTRUCTIONS], below[HELD][INSTRUCTIONS];
    UNROLL for (int e = 0; e < TILE_O / 2; e++) sum[e] = 0.0f;
    ROLLED for (int s = work.slice; s < work.end; s++, advance(pipe, STAGES)) {
        consumer_wait(barriers, *pipe);
        unsigned stage = stages + pipe->stage * STAGE_BYTES;
        UNROLL for (int piece = 0; piece < 2; piece++) {
            const int at = piece % HELD;
            // The products that read these registers are done; before the last piece's, a stage.
            WGMMA_WAIT(HELD - 1);
            if (piece == HELD - 1) cluster_consumer_release(&taken);
            load_row(stage + (place ^ piece * 16), above[at]);
            load_row(stage + (place ^ piece * 16) + 1024, below[at]);
            wgmma_fence();
            multiply(sum, above[at], below[at],
                     stage + ROWS * 128 + piece * (INSTRUCTIONS / 2) * 32 * TILE_O);
            wgmma_commit();
        }
        taken = EMPTY_BARRIER(barriers, pipe->stage, STAGES);
    }
    WGMMA_WAIT(0);
    cluster_consumer_release(&taken);
}

#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__global__ __launch_bounds__(THREADS, BLOCKS) void FAMILY(
    const __grid_constant__ tensor_map rows, const element* __restrict__ rounded,
    const float* __restrict__ bias, result* out, float* partial, int images, int whole, int works)
{
    extern __shared__ __align__(1024) char shared[];
    unsigned stages = (unsigned)__cvta_generic_to_shared(shared);
    unsigned barriers = init_pipeline(stages);
    if (threadIdx.x < 128) {
#if CONSUMER_REGISTERS
        SETMAXNREG_DEC(24);
#endif
        if (threadIdx.x == 0) fetch(&rows, rounded, stages, barriers, whole, works);
    } else {
#if CONSUMER_REGISTERS
        SETMAXNREG_INC(CONSUMER_REGISTERS);
#endif
        struct pipeline_state pipe = {0, 0};
        int row = threadIdx.x / 32 * 16 - 64 + threadIdx.x % 32 / 4;
        for (int number = blockIdx.x / CLUSTER; number < works; number += gridDim.x / CLUSTER) {
            struct work work = work_of(number, whole);
            float sum[TILE_O / 2];
            accumulate(sum, work, stages, barriers, &pipe);
            int64 first = work.image + row;
            int output = work.output + threadIdx.x % 4 * 2;
            ROLLED for (int e = 0; e < TILE_O / 2; e += SUMS_AT_ONCE, output += 2 * SUMS_AT_ONCE) {
#if PARTS > 1
                int64 before = (int64)whole * ROWS, rest = images - before;
                float* part = partial + work.part * rest * OUTPUTS;
                if (work.part >= 0)
                    store_part(sum, part, first - before, rest, output);
                else
#endif
                    store_strip(sum, bias, out, first, images, output);
                next_strip(sum);
            }
        }
    }
    // No block ends while another may still tell it of a stage.
    sync_sharers();
}

#if PARTS > 1
// Adds the parts' sums.  Grid: x over the results of images that have parts.
__global__ __launch_bounds__(PACK_THREADS) void KERNEL(finish)(const float* __restrict__ partial,
                                                               const float* __restrict__ bias,
                                                               result* __restrict__ out, int images,
                                                               int whole)
{
    int64 before = (int64)whole * ROWS, results = (images - before) * OUTPUTS;
    int64 e = (int64)blockIdx.x * PACK_THREADS + threadIdx.x;
    if (e >= results) return;
    float sum = sum_of_parts(partial, e, results);
    int64 n = before + e / OUTPUTS;
    int output = e % OUTPUTS;
    out[n * OUTPUTS + output] = RESULT(activate(sum + BIAS(bias[output])));
}
#endif
