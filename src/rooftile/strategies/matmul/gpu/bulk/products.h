// A warpgroup's products of a tile.

#pragma once

#include "matmul/gpu/bulk/lanes.h"

#if LEFT_HELD
// Takes what an instruction needs of a warpgroup's rows: both rows of a lane at a term, and at the
// fourth after it.
__device__ __forceinline__ void take_rows(unsigned place, int step, unsigned held[4])
{
    UNROLL for (int half = 0; half < 2; half++)
        asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];"
                     : "=r"(held[2 * half]), "=r"(held[2 * half + 1])
                     : "r"(fours_on(place, 2 * step + half))
                     : "memory");
}

// Half of a slice is in registers at a time: its products are on their way while the other half is
// taken.
__device__ __forceinline__ void accumulate(float sum[SUMS], struct work work, unsigned stages,
                                           unsigned barriers, struct pipeline_state* pipe)
{
    unsigned place = place_of_neighbours(row_of_lane()), taken = 0, held[2][2][4];
    UNROLL for (int e = 0; e < SUMS; e++) sum[e] = 0.0f;
    ROLLED for (int s = work.slice; s < work.end; s++, advance(pipe, STAGES)) {
        unsigned stage = of_warp(stages + pipe->stage * STAGE_BYTES);
        consumer_wait(barriers, *pipe);
        word b = columns_at(stage + A_BYTES);
        UNROLL for (int half = 0; half < 2; half++) {
            // The products that read these registers are done; before the last half's, a stage.
            WGMMA_WAIT(1);
            if (half == 1) cluster_consumer_release(&taken);
            UNROLL for (int step = 0; step < 2; step++)
                take_rows(stage + place, 2 * half + step, held[half][step]);
            wgmma_fence();
            UNROLL for (int step = 0; step < 2; step++)
                WGMMA(sum, held[half][step][0], held[half][step][1], held[half][step][2],
                      held[half][step][3], b + (2 * half + step) * RIGHT_STEP, 1);
            wgmma_commit();
        }
        taken = EMPTY_BARRIER(barriers, pipe->stage, STAGES);
    }
    WGMMA_WAIT(0);
    cluster_consumer_release(&taken);
}
#else
__device__ __forceinline__ void accumulate(float sum[SUMS], struct work work, unsigned stages,
                                           unsigned barriers, struct pipeline_state* pipe)
{
    int group = of_warp(threadIdx.x / 128) - 1;
    unsigned taken = 0;
    UNROLL for (int e = 0; e < SUMS; e++) sum[e] = 0.0f;
    ROLLED for (int s = work.slice; s < work.end; s++, advance(pipe, STAGES)) {
        unsigned stage = of_warp(stages + pipe->stage * STAGE_BYTES);
        consumer_wait(barriers, *pipe);
        word a = rows_at(stage + group * 64 * 128), b = columns_at(stage + A_BYTES);
        wgmma_fence();
        UNROLL for (int step = 0; step < 4; step++)
            WGMMA(sum, a + step * LEFT_STEP, b + step * RIGHT_STEP, 1);
        wgmma_commit();
        // The products of the slice before are done, and so is its stage.
        WGMMA_WAIT(1);
        cluster_consumer_release(&taken);
        taken = EMPTY_BARRIER(barriers, pipe->stage, STAGES);
    }
    WGMMA_WAIT_FOR(sum, 0);
    cluster_consumer_release(&taken);
}
#endif
