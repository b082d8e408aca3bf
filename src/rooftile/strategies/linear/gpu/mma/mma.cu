// mma: the matrix product on tensor cores, of any GPU from compute capability 8.0.
//
// A warp's WARP_B x WARP_O results stay in its registers, as the cores' sums.  Which input is which
// of an instruction's is free as long as both sides agree: a lane takes neighbouring inputs of a
// row, by 16-byte loads, where the instruction's own order would take pairs; images lie in shared
// memory as they do in memory and become the cores' type in
// registers.  Copies of the next STAGES - 1 slices of 32 inputs are on their way meanwhile.
// Where tiles are too few, PARTS blocks share a tile's inputs, and `finish` adds their sums.
// What it removes: the FMA units' limit, and the separate pass that converts.
//
// x[images][INPUTS] in float or, with X_NARROW, in the cores' own type; weights[OUTPUTS][INPUTS];
// rounded[PADDED_OUTPUTS][PADDED_INPUTS] in the cores' type, zeros around the weights;
// bias[OUTPUTS];
// out[images][OUTPUTS] in float or, with OUT_NARROW, in the cores' own type; with several parts
// partial[PARTS][images][OUTPUTS] between the kernels.
// Grid: x over tiles of outputs, then of images; y over parts.  Block: WARPS_B x WARPS_O warps.

#include "linear/gpu/mma/tiles.h"

// Pieces of four words in which a lane has a row's inputs of a slice: a piece is two instructions.
#define PIECES (CORES == TF32 ? 2 : 1)

struct sums { float of[ROWS / 2][COLUMNS][4]; };

// Rounds the weights to the cores' type, with zeros around them.  Grid: a thread an element.
__global__ __launch_bounds__(PACK_THREADS) void mma_round_weights(const float* __restrict__ weights,
                                                                  element* __restrict__ rounded)
{
    size_t e = (size_t)blockIdx.x * PACK_THREADS + threadIdx.x;
    if (e >= (size_t)PADDED_OUTPUTS * PADDED_INPUTS) return;
    int output = e / PADDED_INPUTS, input = e % PADDED_INPUTS;
    bool inside = output < OUTPUTS && input < INPUTS;
    rounded[e] = ELEMENT(inside ? weights[(size_t)output * INPUTS + input] : 0.0f);
}

// Reads four words of a row: 16 bytes, or 32 where floats become elements of 16 bits.
__device__ __forceinline__ void load_row(const char* rows, int row, int row_bytes, int piece,
                                         unsigned held[4])
{
    int t = threadIdx.x % 4;
    if (CORES != TF32 && row_bytes == 128) {
        float4 first = *(const float4*)(rows + place_of(row, 2 * t, 128));
        float4 next = *(const float4*)(rows + place_of(row, 2 * t + 1, 128));
        held[0] = pack(first.x, first.y), held[1] = pack(first.z, first.w);
        held[2] = pack(next.x, next.y), held[3] = pack(next.z, next.w);
        return;
    }
    int vector = CORES != TF32 ? t : 2 * t + piece;
    uint4 four = *(const uint4*)(rows + place_of(row, vector, row_bytes));
    held[0] = four.x, held[1] = four.y, held[2] = four.z, held[3] = four.w;
}

__device__ __forceinline__ void multiply_slice(const char* x_rows, const char* w_rows,
                                               struct sums* sums)
{
    int g = threadIdx.x % 32 / 4;
    ROLLED for (int piece = 0; piece < PIECES; piece++) {
        unsigned b[COLUMNS][4];
        UNROLL for (int c = 0; c < COLUMNS; c++) load_row(w_rows, 8 * c + g, W_ROW, piece, b[c]);
        UNROLL for (int r = 0; r < ROWS / 2; r++) {
            unsigned above[4], below[4];
            load_row(x_rows, 16 * r + g, X_ROW, piece, above);
            load_row(x_rows, 16 * r + 8 + g, X_ROW, piece, below);
#if !X_NARROW && CORES == TF32
            UNROLL for (int e = 0; e < 4; e++) {
                above[e] = __float_as_uint(tf32(__uint_as_float(above[e])));
                below[e] = __float_as_uint(tf32(__uint_as_float(below[e])));
            }
#endif
            UNROLL for (int c = 0; c < COLUMNS; c++)
                UNROLL for (int s = 0; s < 4; s += 2) {
                    const unsigned a[4] = {above[s], below[s], above[s + 1], below[s + 1]};
                    multiply_add(sums->of[r][c], a, b[c] + s);
                }
        }
    }
}

// Stores a lane's two neighbouring results of a row, or what a part has summed up for them.
__device__ __forceinline__ void store(const float* bias, void* out, int64 n, int output,
                                      const float* sum)
{
#if PARTS > 1
    float* to = (float*)out + (size_t)n * OUTPUTS + output;
    UNROLL for (int e = 0; e < 2; e++)
        if (output + e < OUTPUTS) to[e] = sum[e];
#else
    result* to = (result*)out + (size_t)n * OUTPUTS + output;
    float y[2];
    UNROLL for (int e = 0; e < 2; e++)
        if (output + e < OUTPUTS) y[e] = activate(sum[e] + __ldg(bias + output + e));
    store_two(to, output, y[0], y[1]);
#endif
}

__global__ __launch_bounds__(THREADS, BLOCKS) void mma(
    const given* __restrict__ x, const element* __restrict__ rounded,
    const float* __restrict__ bias, void* __restrict__ out, int images)
{
    extern __shared__ __align__(128) char shared[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int warp_b = warp / WARPS_O * WARP_B, warp_o = warp % WARPS_O * WARP_O;
    struct tile tile = tile_of_block();
    struct sums sums;
    UNROLL for (int e = 0; e < ROWS / 2 * COLUMNS * 4; e++)
        sums.of[e / (4 * COLUMNS)][e / 4 % COLUMNS][e % 4] = 0.0f;
    UNROLL for (int s = 0; s < STAGES - 1; s++) {
        if (s < tile.slices)
            start_slice(shared + s * STAGE_BYTES, x, rounded, tile.image, images, tile.output,
                        tile.input + s * SLICE);
        end_copies();
    }
    int at = 0, next = STAGES - 1;
    ROLLED for (int s = 0; s < tile.slices; s++) {
        await_stage();
        if (s + STAGES - 1 < tile.slices)
            start_slice(shared + next * STAGE_BYTES, x, rounded, tile.image, images, tile.output,
                        tile.input + (s + STAGES - 1) * SLICE);
        end_copies();
        const char* stage = shared + at * STAGE_BYTES;
        multiply_slice(stage + warp_b * X_ROW, stage + X_BYTES + warp_o * W_ROW, &sums);
        next = at, at = at + 1 == STAGES ? 0 : at + 1;
    }
    if (PARTS > 1) out = (float*)out + (size_t)blockIdx.y * images * OUTPUTS;
    UNROLL for (int r = 0; r < ROWS; r++) {
        int64 n = tile.image + warp_b + 8 * r + lane / 4;
        if (n >= images) break;
        UNROLL for (int c = 0; c < COLUMNS; c++)
            store(bias, out, n, tile.output + warp_o + 8 * c + 2 * (lane % 4),
                  sums.of[r / 2][c] + 2 * (r % 2));
    }
}

// Adds the parts' sums.  Grid: x over the results.
__global__ __launch_bounds__(PACK_THREADS) void mma_finish(const float* __restrict__ partial,
                                                           const float* __restrict__ bias,
                                                           result* __restrict__ out, int images)
{
    int64 e = (int64)blockIdx.x * PACK_THREADS + threadIdx.x, results = (int64)images * OUTPUTS;
    if (e >= results) return;
    out[e] = RESULT(activate(sum_of_parts(partial, e, results) + bias[e % OUTPUTS]));
}
