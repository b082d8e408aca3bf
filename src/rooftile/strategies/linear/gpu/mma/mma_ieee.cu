// mma_ieee: float32 as two numbers of float16 on tensor cores, from compute capability
// 8.0.
//
// As mma, but each number is split in two, x = high + low, scaled as
// `scaled_rows.h` says, and three products stand for one.  A warp splits a slice of its images in
// registers, and finds their scales there.  Cores cut sums off, so a slice's sum, which is short,
// is added to the total in float32.
// What it removes: half the time of products of numbers split in TF32.
//
// x[images][INPUTS]; weights[OUTPUTS][INPUTS]; row_scales[OUTPUTS], one for each output's weights;
// numbers[PADDED_OUTPUTS][slices][4 lanes][2 numbers][8] in float16, zeros around the weights;
// bias[OUTPUTS]; out[images][OUTPUTS]; with several parts of inputs partial[PARTS][images][OUTPUTS]
// between the kernels.
// Grid: x over tiles of outputs, then of images; y over parts.  Block: WARPS_B x WARPS_O warps.

#define FAMILY mma_ieee
#include "linear/gpu/mma/tiles.h"
#include "gemm/gpu/scaled_rows.h"

struct sums {
    float of[ROWS / 2][COLUMNS][4];
    struct row rows[ROWS];
};

// Grid: a thread a weight.
__global__ __launch_bounds__(PACK_THREADS) void mma_ieee_split_weights(
    const float* __restrict__ weights, const struct row_scale* __restrict__ row_scales,
    element* __restrict__ numbers)
{
    size_t e = (size_t)blockIdx.x * PACK_THREADS + threadIdx.x;
    if (e >= (size_t)PADDED_OUTPUTS * PADDED_INPUTS) return;
    int output = e / PADDED_INPUTS, input = e % PADDED_INPUTS;
    bool inside = output < OUTPUTS && input < INPUTS;
    float weight = inside ? weights[(size_t)output * INPUTS + input] : 0.0f;
    split_weight(weight, row_scales[inside ? output : 0], numbers + e / 8 * 16 + e % 8, 8);
}

// Reads four words of a row of weights, of one of their two numbers.
__device__ __forceinline__ void load_weights(const char* rows, int row, int number,
                                             unsigned held[4])
{
    uint4 four = *(const uint4*)(rows + place_of(row, threadIdx.x % 4 * 2 + number, W_ROW));
    held[0] = four.x, held[1] = four.y, held[2] = four.z, held[3] = four.w;
}

__device__ __forceinline__ void load_row(const char* rows, int row, float x[8])
{
    UNROLL for (int half = 0; half < 2; half++) {
        int vector = threadIdx.x % 4 * 2 + half;
        float4 four = *(const float4*)(rows + place_of(row, vector, X_ROW));
        x[4 * half] = four.x, x[4 * half + 1] = four.y;
        x[4 * half + 2] = four.z, x[4 * half + 3] = four.w;
    }
}

// The small products come first.
__device__ __forceinline__ void multiply_slice(const char* x_rows, const char* w_rows,
                                               struct sums* sums)
{
    int g = threadIdx.x % 32 / 4;
    unsigned b[COLUMNS][2][4];
    UNROLL for (int c = 0; c < COLUMNS; c++)
        UNROLL for (int number = 0; number < 2; number++)
            load_weights(w_rows, 8 * c + g, number, b[c][number]);
    UNROLL for (int r = 0; r < ROWS / 2; r++) {
        float x[2][8], back[2];
        unsigned high[2][4], low[2][4];
        UNROLL for (int i = 0; i < 2; i++) {
            load_row(x_rows, 16 * r + 8 * i + g, x[i]);
            float scale = scale_of(x[i], &sums->rows[2 * r + i]);
            pair high_row[4], low_row[4];
            split_row(x[i], scale, high_row, low_row);
            // An instruction takes a pair of each row in turn.
            UNROLL for (int e = 0; e < 4; e++) {
                high[e / 2][e % 2 * 2 + i] = high_row[e];
                low[e / 2][e % 2 * 2 + i] = low_row[e];
            }
            back[i] = over(-14, scale);
        }
        UNROLL for (int c = 0; c < COLUMNS; c++) {
            float slice[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            UNROLL for (int s = 0; s < 2; s++) {
                multiply_add(slice, high[s], b[c][1] + 2 * s);
                multiply_add(slice, low[s], b[c][0] + 2 * s);
            }
            UNROLL for (int s = 0; s < 2; s++) multiply_add(slice, high[s], b[c][0] + 2 * s);
            UNROLL for (int e = 0; e < 4; e++)
                sums->of[r][c][e] = fmaf(slice[e], back[e / 2], sums->of[r][c][e]);
        }
    }
}

// Scales sums back; those in doubt become NaN.  Returns whether any is.
__device__ __forceinline__ bool scale_back(struct sums* sums, const struct row_scale* row_scales, int output)
{
    bool doubtful = false;
    UNROLL for (int r = 0; r < ROWS; r++) {
        struct row row = whole_row(sums->rows[r]);
        UNROLL for (int c = 0; c < COLUMNS; c++)
            UNROLL for (int e = 0; e < 2; e++) {
                int o = output + 8 * c + e;
                float* sum = &sums->of[r / 2][c][r % 2 * 2 + e];
                // Outputs beyond the last have no scale of their own; they are not stored.
                *sum = scaled_back(*sum, row, row_scales[o < OUTPUTS ? o : 0]);
                doubtful |= *sum != *sum;
            }
    }
    return doubtful;
}

// Stores a lane's two neighbouring results of a row, or what a part has summed up for them.
__device__ __forceinline__ void store(const float* bias, float* out, int64 n, int output,
                                      const float* sum)
{
    float y[2] = {sum[0], sum[1]};
    if (PARTS == 1)
        UNROLL for (int e = 0; e < 2; e++)
            if (output + e < OUTPUTS) y[e] = activate(sum[e] + __ldg(bias + output + e));
    store_two(out + (size_t)n * OUTPUTS + output, output, y[0], y[1]);
}

// Computes the tile's results that are NaN anew.
__device__ __forceinline__ void mend_tile(const float* x, const float* weights, const float* bias,
                                          float* out, const struct sums* sums, int n, int images,
                                          int output)
{
    UNROLL for (int r = 0; r < ROWS; r++) {
        unsigned doubtful = 0;
        UNROLL for (int e = 0; e < 2 * COLUMNS; e++) {
            float sum = sums->of[r / 2][e / 2][r % 2 * 2 + e % 2];
            int o = output + e / 2 * 8 + e % 2;
            if (sum != sum && n + 8 * r < images && o < OUTPUTS) doubtful |= 1u << e;
        }
        unsigned left = __reduce_or_sync(~0u, doubtful);
        ROLLED for (; left; left &= left - 1) {
            int e = __ffs(left) - 1;
            mend(x, weights, bias, out, n + 8 * r, output + e / 2 * 8 + e % 2, doubtful >> e & 1);
        }
    }
}

__global__ __launch_bounds__(THREADS, BLOCKS) void mma_ieee(
    const float* __restrict__ x, const float* __restrict__ weights,
    const struct row_scale* __restrict__ row_scales, const element* __restrict__ numbers,
    const float* __restrict__ bias, float* __restrict__ out, int images)
{
    extern __shared__ __align__(128) char shared[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int warp_b = warp / WARPS_O * WARP_B, warp_o = warp % WARPS_O * WARP_O;
    struct tile tile = tile_of_block();
    struct sums sums;
    UNROLL for (int r = 0; r < ROWS; r++) sums.rows[r].most = sums.rows[r].small = 0.0f;
    UNROLL for (int r = 0; r < ROWS / 2; r++)
        UNROLL for (int c = 0; c < COLUMNS; c++)
            UNROLL for (int e = 0; e < 4; e++) sums.of[r][c][e] = 0.0f;
    UNROLL for (int s = 0; s < STAGES - 1; s++) {
        if (s < tile.slices)
            start_slice(shared + s * STAGE_BYTES, x, numbers, tile.image, images, tile.output,
                        tile.input + s * SLICE);
        end_copies();
    }
    int at = 0, next = STAGES - 1;
    ROLLED for (int s = 0; s < tile.slices; s++) {
        await_stage();
        if (s + STAGES - 1 < tile.slices)
            start_slice(shared + next * STAGE_BYTES, x, numbers, tile.image, images, tile.output,
                        tile.input + (s + STAGES - 1) * SLICE);
        end_copies();
        const char* stage = shared + at * STAGE_BYTES;
        multiply_slice(stage + warp_b * X_ROW, stage + X_BYTES + warp_o * W_ROW, &sums);
        next = at, at = at + 1 == STAGES ? 0 : at + 1;
    }
    int64 first = tile.image + warp_b + lane / 4;
    int output = tile.output + warp_o + lane % 4 * 2;
    bool doubtful = scale_back(&sums, row_scales, output);
    if (PARTS > 1) out += (size_t)blockIdx.y * images * OUTPUTS;
    UNROLL for (int r = 0; r < ROWS; r++) {
        int64 n = first + 8 * r;
        if (n >= images) break;
        UNROLL for (int c = 0; c < COLUMNS; c++)
            store(bias, out, n, output + 8 * c, sums.of[r / 2][c] + r % 2 * 2);
    }
    if (PARTS == 1 && __any_sync(~0u, doubtful))
        mend_tile(x, weights, bias, out, &sums, first, images, output);
}

// Adds the parts' sums.  Grid: x over the results.
__global__ __launch_bounds__(PACK_THREADS) void mma_ieee_finish(const float* __restrict__ x,
                                                                const float* __restrict__ weights,
                                                                const float* __restrict__ partial,
                                                                const float* __restrict__ bias,
                                                                float* __restrict__ out, int images)
{
    int64 e = (int64)blockIdx.x * PACK_THREADS + threadIdx.x, results = (int64)images * OUTPUTS;
    int n = e / OUTPUTS, output = e % OUTPUTS;
    float sum = 0.0f;
    if (e < results) {
        sum = finite(sum_of_parts(partial, e, results));
        out[e] = activate(sum + bias[output]);
    }
    mend(x, weights, bias, out, n, output, sum != sum);
}
