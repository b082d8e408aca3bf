// Rungs 10 to 13, mma: the matrix product on tensor cores, of any GPU from compute capability 8.0.
//
// A warp's WARP_B x WARP_O results stay in its registers, as the cores' sums.  Which input is which
// of an instruction's is free as long as both sides agree: a lane takes neighbouring inputs of a
// row, by 16-byte loads, where the instruction's own order would take pairs; images lie in shared
// memory as they do in memory and become the cores' type (CORES: 0 float16, 1 bfloat16, 2 TF32) in
// registers.  Copies of the next STAGES - 1 slices of 32 inputs are on their way meanwhile.
// Where tiles are too few, PARTS blocks share a tile's inputs, and `finish` adds their sums.
// What it removes: the FMA units' limit, and the separate pass that converts.
//
// With NUMBERS 2, each float is x = hi + lo in TF32, and three products make one.  Cores cut sums
// off: a slice's is short, and added to the total in float32.  What the split cannot hold becomes
// NaN, and results that are not finite are computed from their definition.
//
// x[images][INPUTS] in float or, with X_NARROW, in the cores' own type; weights[OUTPUTS][INPUTS];
// rounded[PADDED_OUTPUTS][PADDED_INPUTS] in the cores' type, zeros around the weights; bias[OUTPUTS];
// out[images][OUTPUTS] in float or, with OUT_NARROW, in the cores' own type; with several parts
// partial[PARTS][images][OUTPUTS] between the kernels.
// Grid: x over tiles of outputs, then of images; y over parts.  Block: WARPS_B x WARPS_O warps.

#define SLICE 32
#define TILE_B (WARPS_B * WARP_B)
#define TILE_O (WARPS_O * WARP_O)
#define THREADS (32 * WARPS_B * WARPS_O)
#define TILES_ACROSS ((OUTPUTS + TILE_O - 1) / TILE_O)
#define X_ROW (X_NARROW ? 64 : 128)
#define W_ROW (CORES == 2 ? 128 : 64)
#define X_BYTES (TILE_B * X_ROW)
#define STAGE_BYTES (X_BYTES + TILE_O * W_ROW)
#define PART_INPUTS ((PADDED_INPUTS / SLICE + PARTS - 1) / PARTS * SLICE)
// A lane's inputs of a slice, of a row, in pieces of four words: two steps of the cores.
#define PIECES (CORES == 2 ? 2 : 1)
#define ROWS (WARP_B / 8)
#define COLUMNS (WARP_O / 8)

typedef unsigned word;

#define X_PIECE (X_ALIGNED ? 16 / (int)sizeof(given) : 1)
#if CORES == 2
typedef float element;
#define ELEMENT(value) (NUMBERS == 2 ? (value) : __uint_as_float(tf32(value)))
#else
typedef narrow element;
#define ELEMENT(value) NARROW(value)
#endif

// The weights in the cores' type, zeros around them.  Grid: a thread an element.
__global__ __launch_bounds__(PACK_THREADS) void round_weights(const float* __restrict__ weights,
                                                              element* __restrict__ rounded)
{
    size_t e = (size_t)blockIdx.x * PACK_THREADS + threadIdx.x;
    if (e >= (size_t)PADDED_OUTPUTS * PADDED_INPUTS) return;
    int output = e / PADDED_INPUTS, input = e % PADDED_INPUTS;
    bool inside = output < OUTPUTS && input < INPUTS;
    rounded[e] = ELEMENT(inside ? weights[(size_t)output * INPUTS + input] : 0.0f);
}

// Start the copy of `bytes` bytes, of a place that takes `size`: zeros for the others.
__device__ __forceinline__ void bring(char* to, const void* from, int size, int bytes)
{
    unsigned place = (unsigned)__cvta_generic_to_shared(to);
    if (size == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from),
                     "r"(bytes)
                     : "memory");
    else if (size == 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place), "l"(from),
                     "r"(bytes)
                     : "memory");
    else
        *(narrow*)to = bytes ? *(const narrow*)from : (narrow)0;
}

// Where 16 bytes of a row lie: those of 128 bytes swizzled, so that two rows' fill all banks.
__device__ __forceinline__ int place_of(int row, int chunk, int row_bytes)
{
    return row * row_bytes + (row_bytes == 128 ? chunk ^ (row & 1) : chunk) * 16;
}

// Start to copy a slice of a tile.  Zeros come for images beyond the last.
__device__ __forceinline__ void start_slice(char* stage, const given* x, const element* rounded,
                                            int64 image, int images, int output, int input)
{
    const int x_pieces = X_ROW / (X_PIECE * (int)sizeof(given)), x_rows = THREADS / x_pieces;
    int row = threadIdx.x / x_pieces, at = threadIdx.x % x_pieces * X_PIECE;
    int byte = at * (int)sizeof(given), rows = input + at < INPUTS ? (int)(images - image) : 0;
    const given* from = x + (size_t)(image + row) * INPUTS + input + at;
    UNROLL for (int r = 0; r < TILE_B; r += x_rows) {
        if (TILE_B % x_rows && r + row >= TILE_B) break;
        bring(stage + place_of(r + row, byte / 16, X_ROW) + byte % 16, from + (size_t)r * INPUTS,
              X_PIECE * (int)sizeof(given), r + row < rows ? X_PIECE * (int)sizeof(given) : 0);
    }
    const int chunks = W_ROW / 16, w_rows = THREADS / chunks;
    int w_row = threadIdx.x / chunks, chunk = threadIdx.x % chunks;
    const element* weights = rounded + (size_t)(output + w_row) * PADDED_INPUTS + input +
                             chunk * (16 / (int)sizeof(element));
    UNROLL for (int r = 0; r < TILE_O; r += w_rows) {
        if (TILE_O % w_rows && r + w_row >= TILE_O) break;
        bring(stage + X_BYTES + place_of(r + w_row, chunk, W_ROW),
              weights + (size_t)r * PADDED_INPUTS, 16, 16);
    }
}

// Four words of a row from 16 bytes, or 32 where floats become elements of 16 bits.
__device__ __forceinline__ void load_row(const char* rows, int row, int row_bytes, int piece,
                                         word held[NUMBERS][4])
{
    int t = threadIdx.x % 4;
    if (CORES < 2 && row_bytes == 128) {
        float4 first = *(const float4*)(rows + place_of(row, 2 * t, 128));
        float4 next = *(const float4*)(rows + place_of(row, 2 * t + 1, 128));
        held[0][0] = pack(first.x, first.y), held[0][1] = pack(first.z, first.w);
        held[0][2] = pack(next.x, next.y), held[0][3] = pack(next.z, next.w);
        return;
    }
    int chunk = CORES < 2 ? t : 2 * t + piece;
    uint4 four = *(const uint4*)(rows + place_of(row, chunk, row_bytes));
    const word words[4] = {four.x, four.y, four.z, four.w};
    UNROLL for (int e = 0; e < 4; e++) {
#if NUMBERS == 2
        split(__uint_as_float(words[e]), &held[0][e], &held[1][e]);
#else
        held[0][e] = words[e];
#endif
    }
}

__device__ __forceinline__ void multiply(float sum[4], const word* above, const word* below,
                                         const word* b)
{
#if CORES == 0
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
#elif CORES == 1
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
#else
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
#endif
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(above[0]), "r"(below[0]), "r"(above[1]), "r"(below[1]), "r"(b[0]), "r"(b[1]));
}

// Adds a slice's products to a warp's sums.
__device__ __forceinline__ void multiply_slice(const char* x_rows, const char* w_rows,
                                               float sum[ROWS / 2][COLUMNS][4])
{
    int g = threadIdx.x % 32 / 4;
    _Pragma("unroll 1") for (int piece = 0; piece < PIECES; piece++) {
        word b[COLUMNS][NUMBERS][4];
        UNROLL for (int c = 0; c < COLUMNS; c++) load_row(w_rows, 8 * c + g, W_ROW, piece, b[c]);
        UNROLL for (int r = 0; r < ROWS / 2; r++) {
            word above[NUMBERS][4], below[NUMBERS][4];
            load_row(x_rows, 16 * r + g, X_ROW, piece, above);
            load_row(x_rows, 16 * r + 8 + g, X_ROW, piece, below);
#if !X_NARROW && CORES == 2 && NUMBERS == 1
            UNROLL for (int e = 0; e < 4; e++) {
                above[0][e] = tf32(__uint_as_float(above[0][e]));
                below[0][e] = tf32(__uint_as_float(below[0][e]));
            }
#endif
            UNROLL for (int c = 0; c < COLUMNS; c++) {
#if NUMBERS == 2
                float slice[4] = {0.0f, 0.0f, 0.0f, 0.0f};
                UNROLL for (int s = 0; s < 4; s += 2) {
                    multiply(slice, above[0] + s, below[0] + s, b[c][1] + s);
                    multiply(slice, above[1] + s, below[1] + s, b[c][0] + s);
                }
                UNROLL for (int s = 0; s < 4; s += 2)
                    multiply(slice, above[0] + s, below[0] + s, b[c][0] + s);
                UNROLL for (int e = 0; e < 4; e++) sum[r][c][e] += slice[e];
#else
                UNROLL for (int s = 0; s < 4; s += 2)
                    multiply(sum[r][c], above[0] + s, below[0] + s, b[c][0] + s);
#endif
            }
        }
    }
}

#if NUMBERS == 2
// A sum from its definition: where split products are none of float32's.
__device__ __noinline__ float directly(const float* x, const float* weights)
{
    float sum = 0.0f;
    _Pragma("unroll 1") for (int k = 0; k < INPUTS; k++) sum += x[k] * weights[k];
    return sum;
}
#define MENDED(sum, n, output)                                                                  \
    (fabsf(sum) < INFINITY ? (sum)                                                              \
                           : directly(x + (size_t)(n)*INPUTS, weights + (size_t)(output)*INPUTS))
#else
#define MENDED(sum, n, output) (sum)
#endif

// A lane's two neighbouring results of a row.
__device__ __forceinline__ void store(const given* x, const float* weights, const float* bias,
                                      void* out, int64 n, int output, const float* sum)
{
#if PARTS > 1
    float* to = (float*)out + (size_t)n * OUTPUTS + output;
    UNROLL for (int e = 0; e < 2; e++)
        if (output + e < OUTPUTS) to[e] = sum[e];
#else
    result* to = (result*)out + (size_t)n * OUTPUTS + output;
    float y[2];
    UNROLL for (int e = 0; e < 2; e++)
        if (output + e < OUTPUTS)
            y[e] = activate(MENDED(sum[e], n, output + e) + __ldg(bias + output + e));
#if OUTPUTS % 2 == 0
    if (output >= OUTPUTS) return;
    *(result_2*)to = RESULT_2(y[0], y[1]);
#else
    UNROLL for (int e = 0; e < 2; e++)
        if (output + e < OUTPUTS) to[e] = RESULT(y[e]);
#endif
#endif
}

__global__ __launch_bounds__(THREADS, BLOCKS) void linear(
    const given* __restrict__ x, const float* __restrict__ weights,
    const element* __restrict__ rounded, const float* __restrict__ bias, void* __restrict__ out,
    int images)
{
    extern __shared__ __align__(128) char shared[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int warp_b = warp / WARPS_O * WARP_B, warp_o = warp % WARPS_O * WARP_O;
    int output = blockIdx.x % TILES_ACROSS * TILE_O;
    int64 image = (int64)(blockIdx.x / TILES_ACROSS) * TILE_B;
    int start = blockIdx.y * PART_INPUTS;
    int slices = (min(start + PART_INPUTS, PADDED_INPUTS) - start) / SLICE;

    float sum[ROWS / 2][COLUMNS][4];
    UNROLL for (int e = 0; e < ROWS / 2 * COLUMNS * 4; e++)
        sum[e / (4 * COLUMNS)][e / 4 % COLUMNS][e % 4] = 0.0f;
    UNROLL for (int s = 0; s < STAGES - 1; s++) {
        if (s < slices)
            start_slice(shared + s * STAGE_BYTES, x, rounded, image, images, output,
                        start + s * SLICE);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    int at = 0, next = STAGES - 1;
    _Pragma("unroll 1") for (int s = 0; s < slices; s++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        if (s + STAGES - 1 < slices)
            start_slice(shared + next * STAGE_BYTES, x, rounded, image, images, output,
                        start + (s + STAGES - 1) * SLICE);
        asm volatile("cp.async.commit_group;" ::: "memory");
        const char* stage = shared + at * STAGE_BYTES;
        multiply_slice(stage + warp_b * X_ROW, stage + X_BYTES + warp_o * W_ROW, sum);
        next = at, at = at + 1 == STAGES ? 0 : at + 1;
    }
    if (PARTS > 1) out = (float*)out + (size_t)blockIdx.y * images * OUTPUTS;
    UNROLL for (int r = 0; r < ROWS; r++) {
        int64 n = image + warp_b + 8 * r + lane / 4;
        if (n >= images) break;
        UNROLL for (int c = 0; c < COLUMNS; c++)
            store(x, weights, bias, out, n, output + warp_o + 8 * c + 2 * (lane % 4),
                  sum[r / 2][c] + 2 * (r % 2));
    }
}

// The parts' sums, added in their order.  Grid: x over the results.
__global__ __launch_bounds__(PACK_THREADS) void finish(const given* __restrict__ x,
                                                       const float* __restrict__ weights,
                                                       const float* __restrict__ partial,
                                                       const float* __restrict__ bias,
                                                       result* __restrict__ out, int images)
{
    int64 e = (int64)blockIdx.x * PACK_THREADS + threadIdx.x, results = (int64)images * OUTPUTS;
    if (e >= results) return;
    float sum = 0.0f;
    UNROLL for (int part = 0; part < PARTS; part++) sum += partial[part * results + e];
    sum = MENDED(sum, e / OUTPUTS, e % OUTPUTS);
    out[e] = RESULT(activate(sum + bias[e % OUTPUTS]));
}
