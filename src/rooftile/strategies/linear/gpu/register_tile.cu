// register_tile: tiles in shared memory, and in each thread's registers.
//
// In `tiled`, every multiply-add waits for two reads of shared memory.  Here a thread keeps
// RESULTS_B x RESULTS_O results in registers, so that a value read from shared memory serves
// RESULTS_O or RESULTS_B multiply-adds; four inputs come by one load, and while a tile is
// multiplied the next is on its way from memory.  Where the tiles are too few to occupy the
// device to the end, each of PARTS blocks takes a part of a tile's inputs, and `finish` adds their
// sums.  What it removes: most reads of shared memory.
//
// A thread adds the products of a part one after the other: a second set of sums would take the
// registers that the tile needs.  Where inputs are so ordered that every rounding goes the same
// way, as no random ones are, the error grows with the number of terms and can leave the budget,
// which grows with its square root.  The other rungs add short runs.
//
// x[images][INPUTS], weights[OUTPUTS][INPUTS], bias[OUTPUTS], out[images][OUTPUTS]; with several
// parts partial[PARTS][images][OUTPUTS] between the kernels.
// Grid: x over tiles of outputs, then of images; y over parts.  Block: THREADS, warps of 4 x 8.

#include "gemm/gpu/epilogue.h"

#define TILES_ACROSS ((OUTPUTS + TILE_O - 1) / TILE_O)
#define THREADS_B (TILE_B / RESULTS_B)
#define THREADS_O (TILE_O / RESULTS_O)
#define THREADS (THREADS_B * THREADS_O)
#define QUADS (TILE_K / 4)
#define LOADS(tile) (((tile) * QUADS + THREADS - 1) / THREADS)
// Four floats more than are used, so that the columns' starts lie in different banks.
#define PITCH(tile) ((tile) + 4)
#define PART_INPUTS (((INPUTS + TILE_K - 1) / TILE_K + PARTS - 1) / PARTS * TILE_K)

// Fetches this thread's inputs of a tile of `tile` rows.  Rows beyond the last repeat it.
__device__ __forceinline__ void fetch(const GLOBAL float* __restrict__ matrix, int64 first,
                                      int64 rows, int tile, int start, int thread, float4* held)
{
    UNROLL for (int l = 0; l < LOADS(tile); l++) {
        int e = thread + l * THREADS;
        int64 row = first + e / QUADS;
        if (row >= rows) row = rows - 1;
        held[l] = four_inputs(matrix + (size_t)row * INPUTS, start + e % QUADS * 4);
    }
}

// Puts them into shared memory, transposed: there neighbours are of one input.
__device__ __forceinline__ void keep(SHARED float* to, int tile, int thread, const float4* held)
{
    UNROLL for (int l = 0; l < LOADS(tile); l++) {
        int e = thread + l * THREADS;
        if (e >= tile * QUADS) continue;
        SHARED float* column = to + e % QUADS * 4 * PITCH(tile) + e / QUADS;
        column[0] = held[l].x;
        column[PITCH(tile)] = held[l].y;
        column[2 * PITCH(tile)] = held[l].z;
        column[3 * PITCH(tile)] = held[l].w;
    }
}

// Reads `count` values of a thread from shared memory, in fours of neighbours that lie `apart` from
// each other.
__device__ __forceinline__ void four_by_four(const SHARED float* from, int count, int apart,
                                             float* values)
{
    UNROLL for (int q = 0; q < count / 4; q++) {
        float4 four = *(const SHARED float4*)(from + q * apart);
        values[4 * q] = four.x;
        values[4 * q + 1] = four.y;
        values[4 * q + 2] = four.z;
        values[4 * q + 3] = four.w;
    }
}

// Stores what of four neighbouring sums from an output on are of a line: results, or a part's sums.
__device__ __forceinline__ void store_four(GLOBAL float* line, int output, const float* sum,
                                           const GLOBAL float* bias)
{
    float made[4];
    UNROLL for (int o = 0; o < 4; o++) {
        float shift = PARTS > 1 || output + o >= OUTPUTS ? 0.0f : bias[output + o];
        made[o] = PARTS > 1 ? sum[o] : activate(sum[o] + shift);
    }
#if OUTPUTS % 4 == 0
    if (output < OUTPUTS)
        *(GLOBAL float4*)(line + output) = make_float4(made[0], made[1], made[2], made[3]);
#else
    UNROLL for (int o = 0; o < 4; o++)
        if (output + o < OUTPUTS) line[output + o] = made[o];
#endif
}

__global__ void RESIDENT_BOUNDS(THREADS, 512 / THREADS)
register_tile(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
              const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    __shared__ __attribute__((aligned(16))) float left[2][TILE_K * PITCH(TILE_B)];
    __shared__ __attribute__((aligned(16))) float right[2][TILE_K * PITCH(TILE_O)];
    int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    int ty = warp / (THREADS_O / 8) * 4 + lane / 8, tx = warp % (THREADS_O / 8) * 8 + lane % 8;
    int first_output = blockIdx.x % TILES_ACROSS * TILE_O;
    int64 first_image = (int64)(blockIdx.x / TILES_ACROSS) * TILE_B;
    int start = blockIdx.y * PART_INPUTS;
    int end = start + PART_INPUTS < INPUTS ? start + PART_INPUTS : INPUTS;

    float sum[RESULTS_B][RESULTS_O];
    UNROLL for (int b = 0; b < RESULTS_B; b++)
        UNROLL for (int o = 0; o < RESULTS_O; o++) sum[b][o] = 0.0f;
    float4 inputs[LOADS(TILE_B)], rows[LOADS(TILE_O)];
    fetch(x, first_image, images, TILE_B, start, thread, inputs);
    fetch(weights, first_output, OUTPUTS, TILE_O, start, thread, rows);
    keep(left[0], TILE_B, thread, inputs);
    keep(right[0], TILE_O, thread, rows);
    __syncthreads();

    for (int buffer = 0; start < end; start += TILE_K, buffer ^= 1) {
        bool more = start + TILE_K < end;
        if (more) {
            fetch(x, first_image, images, TILE_B, start + TILE_K, thread, inputs);
            fetch(weights, first_output, OUTPUTS, TILE_O, start + TILE_K, thread, rows);
        }
        UNROLL for (int k = 0; k < TILE_K; k++) {
            float column[RESULTS_B], line[RESULTS_O];
            const SHARED float* inputs_k = left[buffer] + k * PITCH(TILE_B);
            const SHARED float* weights_k = right[buffer] + k * PITCH(TILE_O);
            four_by_four(inputs_k + ty * 4, RESULTS_B, THREADS_B * 4, column);
            four_by_four(weights_k + tx * 4, RESULTS_O, THREADS_O * 4, line);
            UNROLL for (int b = 0; b < RESULTS_B; b++)
                UNROLL for (int o = 0; o < RESULTS_O; o++) sum[b][o] += column[b] * line[o];
        }
        if (more) {
            keep(left[buffer ^ 1], TILE_B, thread, inputs);
            keep(right[buffer ^ 1], TILE_O, thread, rows);
        }
        __syncthreads();
    }

    UNROLL for (int b = 0; b < RESULTS_B; b++) {
        int64 n = first_image + b / 4 * THREADS_B * 4 + ty * 4 + b % 4;
        if (n >= images) continue;
        GLOBAL float* line = out + ((size_t)blockIdx.y * images + n) * OUTPUTS;
        UNROLL for (int o = 0; o < RESULTS_O; o += 4)
            store_four(line, first_output + o * THREADS_O + tx * 4, sum[b] + o, bias);
    }
}

// out[images][OUTPUTS] from partial[PARTS][images][OUTPUTS].  Grid: x over the results.
__global__ void register_tile_finish(
    const GLOBAL float* __restrict__ partial, const GLOBAL float* __restrict__ bias,
    GLOBAL float* __restrict__ out, int images)
{
    int64 result = (int64)blockIdx.x * FINISH_BLOCK + threadIdx.x;
    int64 results = (int64)images * OUTPUTS;
    if (result >= results) return;

    float sum = sum_of_parts(partial, result, results);
    out[result] = activate(sum + bias[result % OUTPUTS]);
}
