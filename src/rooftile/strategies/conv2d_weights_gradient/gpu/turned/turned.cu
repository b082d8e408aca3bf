// turned: correlation of images with argmax gradients on tensor cores, pixels as rows.
//
// In `mma` a product's rows are positions of windows, and its columns are pixels, which each row of
// windows reads anew. Here the product is transposed. Its rows are pixels: an instruction's 16 are
// in two rows of the image and eight columns from a window's corner on. Its terms are windows,
// eight adjacent ones and the eight that are PART rows below them; in TF32 an instruction has room
// for one of these rows, and two follow each other. Its columns are the positions in a window of
// BLOCK_MAPS maps: a window's gradient is in its argmax's column, among zeros. A warp walks down a
// strip of windows. It reads two rows of pixels once, and multiplies them by all rows of windows
// that meet them, the last DEPTH, whose gradients it keeps in registers. A weight is the sum of the
// results whose position and pixel it is between. What it removes: all but one in DEPTH of the
// reads of pixels, and the pass that laid them out. What it costs: columns of maps that are not
// there, so it is for few channels and maps.
//
// With SCALED, x is stored in float16, and gradients are rounded as TF32 is: see any_size.h.
//
// Sums are made by block, then by `finish` over the blocks, in a fixed order.  Zeros make NaN of
// infinities: see mend.h.
//
// x[images][CHANNELS][HEIGHT][WIDTH] in float or, with X_NARROW, in the cores' own type;
// dy, in float or, with DY_NARROW, in that type too, and where: see common/places.h;
// partial[gridDim.x][MAPS][COLUMNS_ALL]: a map's weights, then its bias.
// Grid: x over images, which blocks share out; y over channels; z over groups of BLOCK_MAPS maps.
// Block: x over WARPS warps: each has a strip of eight windows, and one of SEGMENTS shares of its
// rows.

#define FAMILY turned
#include "common/mma.h"
#include "common/pipelines/pdl.h"
#include "conv2d_weights_gradient/gpu/mend.h"

#define THREADS (32 * WARPS)
#define BLOCK_MAPS 4
#define POSITIONS (WINDOW_HEIGHT * WINDOW_WIDTH)
// Adjacent products: each has two positions of every map.
#define TILES (POSITIONS / 2)
#define SUM_COLUMNS (8 * TILES)
#define ACROSS ((COLUMNS + 7) / 8)
// Pairs of rows of pixels that a window's masks meet; pairs in a row of windows; rows of windows
// that meet a pair.
#define PAIRS ((MASK_HEIGHT + WINDOW_HEIGHT) / 2)
#define WINDOW_PAIRS (WINDOW_HEIGHT / 2)
#define DEPTH ((PAIRS + WINDOW_PAIRS - 1) / WINDOW_PAIRS)
// Rows of windows in half of a segment, and the steps down them.
#define PART ((ROWS + 2 * SEGMENTS - 1) / (2 * SEGMENTS))
#define STEPS (PART + DEPTH - 1)
// An image is in shared memory as it is given or, where zeros surround its rows, row by row.
#define PLANE (HEIGHT * WIDTH)
#define FIRST (PAD_Y * PITCH + PAD_X)
#define GIVEN (BLOCK_MAPS * GIVEN_PITCH)
// Instructions that two rows of eight windows are the terms of.
#define FOLDS (CORES == TF32 ? 2 : 1)
#define PIXEL_SIZE ((int)sizeof(given))
#define GRADIENT_SIZE ((int)sizeof(gradient_number))
#define PLACE_SIZE ((int)sizeof(winner_place))
#if SCALED
#include "conv2d_weights_gradient/gpu/turned/any_size.h"
#else
#define SIZES_ARGUMENT
#define SIZES
#define SIZED(gradient) (gradient)
#endif

// Starts to copy bytes, which a team of threads shares out, in the largest pieces that `multiple` is
// a multiple of.  All sizes are constants, so no round takes an address of its own.
__device__ __forceinline__ void start_line(char* to, const GLOBAL char* from, const int multiple,
                                           const int bytes, int rank, const int team)
{
    const int piece = multiple % 16 == 0 ? 16 : multiple % 8 == 0 ? 8 : 4;
    to += rank * piece, from += rank * piece;
    UNROLL_BY(16) for (int at = 0; at < bytes; at += team * piece) {
        if (at + team * piece > bytes && at + rank * piece >= bytes) break;
        if (piece == 16)
            COPY_ASYNC(uint4, (uint4*)(to + at), (const uint4*)(from + at));
        else if (piece == 8)
            COPY_ASYNC(uint2, (uint2*)(to + at), (const uint2*)(from + at));
        else
            COPY_ASYNC(unsigned, (unsigned*)(to + at), (const unsigned*)(from + at));
    }
}

// Starts to copy a channel's pixels: by rows, which the warps share out, where they do not lie as
// they are given.
__device__ __forceinline__ void start_pixels(char* to, const GLOBAL char* from)
{
    const int line = WIDTH * PIXEL_SIZE, pitch = PITCH * PIXEL_SIZE, first = FIRST * PIXEL_SIZE;
    if (PITCH == WIDTH)
        start_line(to + first, from, first | HEIGHT * line, HEIGHT * line, threadIdx.x, THREADS);
    else
        ROLLED for (int row = threadIdx.x / 32; row < HEIGHT; row += WARPS)
            start_line(to + first + row * pitch, from + row * line, first | pitch | line, line,
                       threadIdx.x % 32, 32);
}

// Starts to copy an image's channel, its gradients and their places to a stage.
__device__ __forceinline__ void start_image(char* stage, const given* x, const gradient_number* dy,
                                            const winner_place* where, int n)
{
    const int gradients = GRADIENTS * GRADIENT_SIZE, places = GRADIENTS * PLACE_SIZE;
    int map = blockIdx.z * BLOCK_MAPS, maps = MAPS - map < BLOCK_MAPS ? MAPS - map : BLOCK_MAPS;
    int64 plane = (int64)n * CHANNELS + blockIdx.y, of_dy = ((int64)n * MAPS + map) * GRADIENTS;
    start_pixels(stage, (const char*)(x + plane * PLANE));
    char *to_dy = stage + PIXEL_BYTES, *to_where = to_dy + GIVEN * GRADIENT_SIZE;
    const char *from_dy = (const char*)(dy + of_dy), *from_where = (const char*)(where + of_dy);
    UNROLL for (int m = 0; m < BLOCK_MAPS; m++) {
        if (m >= maps) break;
        start_line(to_dy + m * GIVEN_PITCH * GRADIENT_SIZE, from_dy + m * gradients,
                   GIVEN_PITCH * GRADIENT_SIZE | gradients, gradients, threadIdx.x, THREADS);
        start_line(to_where + m * GIVEN_PITCH * PLACE_SIZE, from_where + m * places,
                   GIVEN_PITCH * PLACE_SIZE | places, places, threadIdx.x, THREADS);
    }
}

// Bytes of two words by four digits; where a digit has its highest bit, all bits are the byte's
// highest.
__device__ __forceinline__ unsigned bytes_of(unsigned low, unsigned high, unsigned digits)
{
    unsigned made;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(made) : "r"(low), "r"(high), "r"(digits));
    return made;
}

// The argmax positions of two adjacent windows, in the two lowest bytes.
__device__ __forceinline__ unsigned positions_of(const winner_place* where, int row, int column)
{
#if WHERE_NARROW
    // A window that relu cut has a place that is none of its positions, without its highest bit too.
    return *(const unsigned short*)where & 0x7f7f;
#else
    int2 two = *(const int2*)where;
    int first = two.x - (row * WINDOW_HEIGHT * CONV_COLUMNS + column * WINDOW_WIDTH);
    int second = two.y - (row * WINDOW_HEIGHT * CONV_COLUMNS + (column + 1) * WINDOW_WIDTH);
    first = first / CONV_COLUMNS * WINDOW_WIDTH + first % CONV_COLUMNS;
    second = second / CONV_COLUMNS * WINDOW_WIDTH + second % CONV_COLUMNS;
    return first | second << 8;
#endif
}

// Their gradients, as they are multiplied: two in a word, or each in one.
__device__ __forceinline__ void load_gradients(unsigned made[FOLDS],
                                               const gradient_number* from SIZES_ARGUMENT)
{
#if DY_NARROW
    made[0] = *(const unsigned*)from;
#else
    float2 two = *(const float2*)from;
    made[0] = WORD(SIZED(two.x), SIZED(two.y));
    if (FOLDS == 2) made[1] = WORD(two.y, two.x);
#endif
}

// The bias's part from a word of gradients.
__device__ __forceinline__ float sum_of(unsigned word)
{
#if CORES == TF32
    return __uint_as_float(word);
#else
    return widened((narrow)word) + widened((narrow)(word >> 16));
#endif
}

// Four windows' gradients in their winners' columns, zeros in others: of two windows in row `row`
// and of the two PART rows below them.  What is in a lane's columns is its share of the bias too.
__device__ __forceinline__ void load_winners(unsigned made[TILES][2 * FOLDS], float* bias,
                                             const char* stage, int row, int column SIZES_ARGUMENT)
{
    const gradient_number* dy = (const gradient_number*)(stage + PIXEL_BYTES);
    const winner_place* where = (const winner_place*)(dy + GIVEN);
    int lane = threadIdx.x % 32, odd = lane / 4 % 2;
    unsigned gradients[2 * FOLDS] = {0}, positions = 0;
    UNROLL for (int half = 0; half < 2; half++) {
        int i = row + half * PART, at = lane / 8 * GIVEN_PITCH + i * COLUMNS + column;
        // Parts that every problem of these sizes has are not tested for.
        if (ROWS % (2 * SEGMENTS) > 0 && i >= ROWS) continue;
        if (COLUMNS % 8 > 0 && column >= COLUMNS) continue;
        load_gradients(gradients + half * FOLDS, dy + at SIZES);
        positions |= positions_of(where + at, i, column) << 16 * half;
    }
    unsigned there[2 * FOLDS] = {0};
    UNROLL for (int t = 0; t < TILES; t++) {
        // A byte's highest bit stays where the winner's position is this column's.
        unsigned same = 0x80808080u - (positions ^ (2 * t + odd) * 0x01010101u);
        UNROLL for (int k = 0; k < 2 * FOLDS; k++) {
            unsigned digits = FOLDS == 2 ? 0x8888 + k * 0x1111 : k == 0 ? 0x9988 : 0xbbaa;
            made[t][k] = gradients[k] & bytes_of(same, 0, digits);
            there[k] |= made[t][k];
        }
    }
    UNROLL for (int k = 0; k < 2 * FOLDS; k++) *bias += sum_of(there[k]);
}

// Two rows of pixels from the corners of four windows on, two of which are PART rows of windows
// below the others: a lane has pixels of an even column, and of the odd one after it.
__device__ __forceinline__ void load_pixels(unsigned made[4 * FOLDS], const given* corner)
{
    UNROLL for (int half = 0; half < 2; half++, corner += PART * WINDOW_HEIGHT * PITCH) {
#if X_NARROW
        unsigned window = *(const unsigned*)corner;
        unsigned next = *(const unsigned*)(corner + WINDOW_WIDTH);
        made[2 * half] = bytes_of(window, next, 0x5410);
        made[2 * half + 1] = bytes_of(window, next, 0x7632);
#else
        float2 window = *(const float2*)corner, next = *(const float2*)(corner + WINDOW_WIDTH);
        unsigned* own = made + 2 * FOLDS * half;
        own[0] = WORD(window.x, next.x), own[1] = WORD(window.y, next.y);
        if (FOLDS == 2) own[2] = WORD(next.x, window.x), own[3] = WORD(next.y, window.y);
#endif
    }
}

// Adds the products of this warp's strip and segment of an image.
__device__ __forceinline__ void add_image(float sum[PAIRS][TILES][4], float* bias,
                                          const char* stage SIZES_ARGUMENT)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, top = warp / ACROSS * 2 * PART;
    int column = warp % ACROSS * 8 + lane % 4 * 2;
    const given* corner = (const given*)stage + (top * WINDOW_HEIGHT + lane / 16) * PITCH
                          + column * WINDOW_WIDTH + lane / 4 % 4 * 2;
    // The last DEPTH rows of windows, in turn.
    unsigned winners[DEPTH][TILES][2 * FOLDS] = {0};
    ROLLED for (int first = 0; first < STEPS; first += DEPTH)
        UNROLL for (int turn = 0; turn < DEPTH; turn++) {
            int step = first + turn;
            if (step >= STEPS) break;
            if (step < PART)
                load_winners(winners[turn], bias, stage, top + step, column SIZES);
            else
                UNROLL for (int t = 0; t < TILES * 2 * FOLDS; t++)
                    winners[turn][t / (2 * FOLDS)][t % (2 * FOLDS)] = 0;
            UNROLL for (int p = 0; p < WINDOW_PAIRS; p++) {
                unsigned pixels[4 * FOLDS];
                load_pixels(pixels, corner + (step * WINDOW_HEIGHT + 2 * p) * PITCH);
                UNROLL for (int k = 0; k < FOLDS * DEPTH; k++) {
                    int fold = k / DEPTH, j = k % DEPTH, pair = j * WINDOW_PAIRS + p;
                    int kept = (turn + DEPTH - j) % DEPTH;
                    if (pair < PAIRS)
                        UNROLL for (int t = 0; t < TILES; t++)
                            multiply_add(sum[pair][t], pixels + 4 * fold,
                                         winners[kept][t] + 2 * fold);
                }
            }
        }
}

// Stores the sums of each warp to joined[WARPS][PAIRS][16][SUM_COLUMNS].
__device__ __forceinline__ void spread(const float sum[PAIRS][TILES][4], float* joined)
{
    int lane = threadIdx.x % 32;
    float* own = joined + threadIdx.x / 32 * PAIRS * 16 * SUM_COLUMNS;
    UNROLL for (int pair = 0; pair < PAIRS; pair++)
        UNROLL for (int t = 0; t < TILES; t++)
            UNROLL for (int e = 0; e < 4; e++) {
                int row = pair * 16 + lane / 4 + e / 2 * 8;
                own[row * SUM_COLUMNS + 8 * t + lane % 4 * 2 + e % 2] = sum[pair][t][e];
            }
}

// Joins the sums of the warps: a weight's are all positions' in a window.
__device__ __forceinline__ void join(const float* joined, float* partial)
{
    for (int at = threadIdx.x; at < BLOCK_MAPS * TAPS; at += THREADS) {
        int tap = at % TAPS, of_block = at / TAPS, map = blockIdx.z * BLOCK_MAPS + of_block;
        float all = 0.0f;
        for (int warp = 0; warp < WARPS; warp++)
            UNROLL for (int v = 0; v < POSITIONS; v++) {
                int i = tap / MASK_WIDTH + v / WINDOW_WIDTH;
                int j = tap % MASK_WIDTH + v % WINDOW_WIDTH;
                int row = (warp * PAIRS + i / 2) * 16 + j % 2 * 8 + i % 2 * 4 + j / 2;
                all += joined[row * SUM_COLUMNS + v / 2 * 8 + of_block * 2 + v % 2];
            }
        if (map < MAPS)
            partial[((int64)blockIdx.x * MAPS + map) * COLUMNS_ALL + blockIdx.y * TAPS + tap] = all;
    }
}

// Joins what eight lanes of each warp added to their map's bias.
__device__ __forceinline__ void join_biases(float bias, float* joined, float* partial)
{
    UNROLL for (int apart = 1; apart < 8; apart *= 2) bias += __shfl_xor_sync(~0u, bias, apart);
    if (threadIdx.x % 8 == 0) joined[threadIdx.x / 8] = bias;
    __syncthreads();
    int map = blockIdx.z * BLOCK_MAPS + threadIdx.x;
    if (threadIdx.x >= BLOCK_MAPS || map >= MAPS || blockIdx.y > 0) return;
    float all = 0.0f;
    for (int warp = 0; warp < WARPS; warp++) all += joined[warp * BLOCK_MAPS + threadIdx.x];
    partial[((int64)blockIdx.x * MAPS + map) * COLUMNS_ALL + CHANNELS * TAPS] = all;
}

__global__ void RESIDENT_BOUNDS(THREADS, BLOCKS)
turned(const GLOBAL given* x, const GLOBAL gradient_number* dy,
       WHERE_ARGUMENT GLOBAL float* __restrict__ partial, int images)
{
    extern __shared__ __align__(16) char shared[];
    float sum[PAIRS][TILES][4], bias = 0.0f;
    UNROLL for (int pair = 0; pair < PAIRS; pair++)
        UNROLL for (int t = 0; t < TILES; t++)
            UNROLL for (int e = 0; e < 4; e++) sum[pair][t][e] = 0.0f;
#if SCALED
    struct unit unit = {1.0f, 0.0f};
#endif
    // Memory that no copy reaches stays zero: pixels around images, gradients of missing maps.
    for (int at = threadIdx.x * 16; at < STAGES * STAGE_BYTES; at += THREADS * 16)
        *(uint4*)(shared + at) = make_uint4(0, 0, 0, 0);
    __syncthreads();
    GRIDDEPCONTROL_WAIT();
    UNROLL for (int ahead = 0; ahead < STAGES - 1; ahead++) {
        int n = blockIdx.x + ahead * gridDim.x;
        if (n < images) start_image(shared + ahead * STAGE_BYTES, x, dy, where, n);
        COPIES_SENT();
    }

    for (int n = blockIdx.x, turn = 0; n < images; n += gridDim.x) {
        COPIES_LEFT(STAGES > 1 ? STAGES - 2 : 0);
        __syncthreads();
        int ahead = n + (STAGES - 1) * gridDim.x, before = turn ? turn - 1 : STAGES - 1;
        if (ahead < images) start_image(shared + before * STAGE_BYTES, x, dy, where, ahead);
        COPIES_SENT();
        // Of one stage alone, other blocks' products overlap the copies.
        if (STAGES == 1) {
            COPIES_DONE();
            __syncthreads();
        }
        const char* stage = shared + turn * STAGE_BYTES;
#if SCALED
        struct extent extent = extent_of(stage);
        struct sizes sizes = first_sizes(extent, &unit);
        do {
            bring(sum, &bias, &unit, sizes.up);
            add_image(sum, &bias, stage, sizes);
        } while (next_sizes(extent, unit, &sizes));
#else
        add_image(sum, &bias, stage);
#endif
        turn = turn + 1 < STAGES ? turn + 1 : 0;
    }

#if SCALED
    bring(sum, &bias, &unit, 1.0f);
#endif
    float* joined = (float*)shared;
    __syncthreads();
    spread(sum, joined);
    __syncthreads();
    join(joined, partial);
    __syncthreads();
    join_biases(bias, joined, partial);
}
