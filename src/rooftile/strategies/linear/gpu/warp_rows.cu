// warp_rows: a team of threads an output, for few images.
//
// With few images a tile of them is mostly empty, and the weights, each needed for one multiply-add
// an image, must come from memory once: nothing else counts.  Here a team of TEAM threads walks
// along one row of weights, so that neighbours read neighbouring words, four at a time and AHEAD
// loads at once.  Each thread keeps a sum for IMAGES images, and a tree in shared memory joins
// them.
// What it removes: idle threads, and reads that do not follow each other.
//
// x[images][INPUTS], weights[OUTPUTS][INPUTS], bias[OUTPUTS], out[images][OUTPUTS].
// Grid: x over blocks of ROWS outputs, then over runs of IMAGES images.
// Block: x over TEAM (a power of two, the tunable GROUP) threads of an output, y over ROWS outputs.

#include "common/pipelines/pdl.h"
#include "gemm/gpu/epilogue.h"

#define ROW_BLOCKS ((OUTPUTS + ROWS - 1) / ROWS)
#define STRIDE (4 * TEAM)

__global__ void RESIDENT_BOUNDS(TEAM * ROWS, 1)
warp_rows(const GLOBAL float* x, const GLOBAL float* weights,
          const GLOBAL float* bias, GLOBAL float* __restrict__ out, int images)
{
    __shared__ float partial[ROWS][IMAGES][TEAM];
    int lane = threadIdx.x, slot = threadIdx.y;
    GRIDDEPCONTROL_LAUNCH();
    GRIDDEPCONTROL_WAIT();
    int o = blockIdx.x % ROW_BLOCKS * ROWS + slot;
    int first = blockIdx.x / ROW_BLOCKS * IMAGES;
    const GLOBAL float* row = weights + (size_t)(o < OUTPUTS ? o : OUTPUTS - 1) * INPUTS;

    float sum[IMAGES];
    UNROLL for (int n = 0; n < IMAGES; n++) sum[n] = 0.0f;
    for (int start = 4 * lane; start < INPUTS; start += AHEAD * STRIDE) {
        float4 held[AHEAD];
        UNROLL for (int a = 0; a < AHEAD; a++) held[a] = four_inputs(row, start + a * STRIDE);
        UNROLL for (int n = 0; n < IMAGES; n++) {
            // Images beyond the last repeat it.
            int image = first + n < images ? first + n : images - 1;
            const GLOBAL float* input = x + (size_t)image * INPUTS;
            UNROLL for (int a = 0; a < AHEAD; a++) {
                float4 four = four_inputs(input, start + a * STRIDE);
                sum[n] += held[a].x * four.x + held[a].y * four.y + held[a].z * four.z +
                          held[a].w * four.w;
            }
        }
    }

    UNROLL for (int n = 0; n < IMAGES; n++) partial[slot][n][lane] = sum[n];
    for (int reach = TEAM / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (lane < reach)
            UNROLL for (int n = 0; n < IMAGES; n++)
                partial[slot][n][lane] += partial[slot][n][lane + reach];
    }
    __syncthreads();
    if (lane < IMAGES && first + lane < images && o < OUTPUTS)
        out[(size_t)(first + lane) * OUTPUTS + o] = activate(partial[slot][lane][0] + bias[o]);
}
