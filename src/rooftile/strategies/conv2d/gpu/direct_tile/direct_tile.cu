// direct_tile: one thread owns whole pooling windows of several maps.
//
// The thread's patch of the image passes through registers row by row; each value
// meets every tap of every map that needs it, each tap every position of the
// windows, so a multiply-add costs a fraction of a load.  Bias, activation and pool
// happen in registers.  A block works through several bands of rows: while it sums
// one, the next is on its way into the other half of its shared memory.
// What it removes: repeated reads of shared memory, and waiting for the image.
// With WINNERS it says too which sum of each window is the largest: where[images][MAPS][ROWS][COLUMNS].
// With ROUNDED, operands are rounded to 16 bits on the way to shared memory (weights by a kernel
// before), where they are float again, as sums are; x and out may lie in 16 bits.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[GROUPS][CHANNELS][MASK_HEIGHT][TAP_ROW], where a
// row holds MASK_WIDTH x THREAD_MAPS taps, bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x blocks of BLOCK_BANDS bands of BAND_ROWS result rows, images x BANDS in all;
// y blocks of BLOCK_GROUPS groups of maps.
// Block: x threads over the band's windows, y groups of THREAD_MAPS maps.

#define FAMILY direct_tile
#include "common/pipelines/pdl.h"
#include "conv2d/gpu/direct_tile/direct.h"
#if ROUNDED
#include "common/rounded.h"
#endif

#define THREADS (BLOCK_PIXELS * BLOCK_GROUPS)
#define CHANNEL_TILES ((CHANNELS + TILE_CHANNELS - 1) / TILE_CHANNELS)
// Shared memory holds two tiles of the image where a block loads more than one, then the taps.
#define BUFFER_SIZE (TILE_CHANNELS * TILE_SIZE)
#define BUFFERS (BLOCK_BANDS * CHANNEL_TILES > 1 ? 2 : 1)
#define BLOCK_TAPS (BLOCK_GROUPS * TILE_CHANNELS * GROUP_TAPS)

#if TAPS_CONSTANT
CONSTANT_ARRAY(float, taps, GROUPS * CHANNELS * GROUP_TAPS)
#define SHARED_SIZE (BUFFERS * BUFFER_SIZE)
#else
#define TAP_BUFFERS (CHANNEL_TILES > 1 ? 2 : 1)
#define SHARED_SIZE (BUFFERS * BUFFER_SIZE + TAP_BUFFERS * BLOCK_TAPS)
#endif

#if ROUNDED
typedef struct __align__(PIECE * sizeof(given)) { given of[PIECE]; } piece;
typedef struct __align__(PLACED * sizeof(float)) { float of[PLACED]; } placed;
#elif PIECE == 4
typedef float4 piece;
#elif PIECE == 2
typedef float2 piece;
#else
typedef float piece;
#endif

// Starts to copy a band's rows of one channel to shared memory.  Rows and columns beyond those
// of the image reach sums that nobody stores; they and ghost cells are zeros.
__device__ __forceinline__ void load_rows(const GLOBAL given* channel, SHARED float* tile, int top,
                                          int thread)
{
#if ROUNDED
    // A piece is within a row of the image. Ghost columns are zeros from the start.
    const int row_pieces = WIDTH / PIECE, most = TILE_ROWS * row_pieces;
    UNROLL for (int e = 0; e < most; e += THREADS) {
        int i = (thread + e) / row_pieces, j = (thread + e) % row_pieces * PIECE;
        if (e + THREADS > most && thread + e >= most) break;
        piece values = {};
        if (top + i >= 0 && top + i < HEIGHT)
            values = *(const piece*)(channel + (top + i) * WIDTH + j);
        placed* to = (placed*)(tile + i * PITCH + PAD_X + j);
        UNROLL for (int v = 0; v < PIECE; v++) to[v / PLACED].of[v % PLACED] = VALUE(values.of[v]);
    }
#elif FLAT
    // Without ghost cells a band is contiguous, here as there.
    const int whole = (BANDS - 1) * BAND_STRIDE + TILE_ROWS <= HEIGHT;
    int rows = whole || HEIGHT - top > TILE_ROWS ? TILE_ROWS : HEIGHT - top;
    int pieces = (rows * WIDTH + PIECE - 1) / PIECE;
    const GLOBAL piece* from = (const GLOBAL piece*)(channel + top * WIDTH) + thread;
    SHARED piece* to = (SHARED piece*)tile + thread;
    const int most = (TILE_ROWS * WIDTH + PIECE - 1) / PIECE;
    UNROLL for (int e = 0; e < most; e += THREADS)
        if ((whole && e + THREADS <= most) || thread + e < pieces)
            COPY_ASYNC(piece, to + e, from + e);
    const int read = (TILE_ROWS - 1) * WIDTH + READ_COLUMNS;
    if (!whole || read > most * PIECE)
        for (int e = pieces * PIECE + thread; e < read; e += THREADS) tile[e] = 0.0f;
#else
    for (int e = thread; e < TILE_ROWS * PITCH; e += THREADS)
        tile[e] = pixel(channel, top + e / PITCH, e % PITCH - PAD_X);
#endif
}

// Starts to copy what a block's stage needs: a tile of some channels of a band, and the block's
// taps for them unless they are there.
__device__ __forceinline__ void load_stage(const GLOBAL given* x, const GLOBAL float* weights,
                                           int first_band, int stage, int thread,
                                           SHARED float* held)
{
    int band = first_band + stage / CHANNEL_TILES, first = stage % CHANNEL_TILES * TILE_CHANNELS;
    int channels = CHANNELS - first < TILE_CHANNELS ? CHANNELS - first : TILE_CHANNELS;
    const GLOBAL given* image = x + (size_t)(band / BANDS) * IMAGE_SIZE;
    SHARED float* tile = held + stage % BUFFERS * BUFFER_SIZE;
    for (int c = 0; c < channels; c++)
        load_rows(image + (first + c) * HEIGHT * WIDTH, tile + c * TILE_SIZE,
                  band % BANDS * BAND_STRIDE - PAD_Y, thread);
#if !TAPS_CONSTANT
    if (CHANNEL_TILES == 1 && stage > 0) return;
    SHARED float* taps = held + BUFFERS * BUFFER_SIZE + stage % TAP_BUFFERS * BLOCK_TAPS;
    for (int g = 0; g < BLOCK_GROUPS; g++) {
        int at = ((blockIdx.y * BLOCK_GROUPS + g) * CHANNELS + first) * GROUP_TAPS;
        const GLOBAL float4* from = (const GLOBAL float4*)(weights + at) + thread;
        SHARED float4* to = (SHARED float4*)(taps + g * TILE_CHANNELS * GROUP_TAPS) + thread;
        UNROLL for (int e = 0; e < TILE_CHANNELS * GROUP_TAPS / 4; e += THREADS)
            if (thread + e < channels * GROUP_TAPS / 4) COPY_ASYNC(float4, to + e, from + e);
    }
#endif
}

__global__ RESIDENT_BOUNDS(THREADS, LEAST_BLOCKS) void direct_tile(
    const GLOBAL given* __restrict__ x, const GLOBAL float* __restrict__ weights,
    const GLOBAL float* __restrict__ bias, GLOBAL result* __restrict__ out, int images
#if WINNERS
    , GLOBAL winner_place* __restrict__ where
#endif
#if TAPS_CONSTANT
    CONSTANT_ARGUMENT(float, taps)
#endif
)
{
    __shared__ __attribute__((aligned(16))) float held[SHARED_SIZE];
    int thread = threadIdx.y * BLOCK_PIXELS + threadIdx.x;
    // A literal where there is one group: then taps in constant memory are operands.
    int group = GROUPS == 1 ? 0 : blockIdx.y * BLOCK_GROUPS + threadIdx.y;
    int down = threadIdx.x / ACROSS * THREAD_ROWS, left = threadIdx.x % ACROSS * THREAD_COLUMNS;
    int place = down * POOL_HEIGHT * STRIDE_Y * PITCH + left * POOL_WIDTH * STRIDE_X;
    int first_band = blockIdx.x * BLOCK_BANDS, bands = images * BANDS - first_band;
    int stages = (bands < BLOCK_BANDS ? bands : BLOCK_BANDS) * CHANNEL_TILES;
    float sum[THREAD_MAPS][SUM_ROWS][SUM_COLUMNS];

    GRIDDEPCONTROL_LAUNCH();
#if ROUNDED
    for (int e = thread; e < BUFFERS * BUFFER_SIZE; e += THREADS) held[e] = 0.0f;
    __syncthreads();
#endif
    load_stage(x, weights, first_band, 0, thread, held);
    for (int stage = 0; stage < stages; stage++) {
        COPIES_DONE();
        __syncthreads();
        if (stage + 1 < stages) load_stage(x, weights, first_band, stage + 1, thread, held);

        int first = CHANNEL_TILES == 1 ? 0 : stage % CHANNEL_TILES * TILE_CHANNELS;
        if (first == 0)
            UNROLL for (int m = 0; m < THREAD_MAPS; m++)
                UNROLL for (int i = 0; i < SUM_ROWS; i++)
                    UNROLL for (int j = 0; j < SUM_COLUMNS; j++) sum[m][i][j] = 0.0f;
        const SHARED float* patch = held + stage % BUFFERS * BUFFER_SIZE + place;
#if TAPS_CONSTANT
        const CONSTANT float* tap = taps + (group * CHANNELS + first) * GROUP_TAPS;
#else
        const SHARED float* tap = held + BUFFERS * BUFFER_SIZE + stage % TAP_BUFFERS * BLOCK_TAPS +
                                  threadIdx.y * TILE_CHANNELS * GROUP_TAPS;
#endif
        for (int c = 0; c < TILE_CHANNELS && first + c < CHANNELS; c++)
            add_channel(patch + c * TILE_SIZE, tap + c * GROUP_TAPS, sum);
        if (first + TILE_CHANNELS < CHANNELS) continue;

        int band = first_band + stage / CHANNEL_TILES, row = band % BANDS * BAND_ROWS + down;
        // Literally all of them where bands and threads leave none over.
        int rows = ROWS % BAND_ROWS == 0 ? THREAD_ROWS : ROWS - row;
        int columns = COLUMNS % THREAD_COLUMNS == 0 ? THREAD_COLUMNS : COLUMNS - left;
        UNROLL for (int m = 0; m < THREAD_MAPS; m++) {
            int map = group * THREAD_MAPS + m;
            // No test around the tests of rows and columns: between barriers, PoCL 3.0 loses it.
            int there = PADDED_MAPS == MAPS || map < MAPS;
            size_t to = (((size_t)(band / BANDS) * MAPS + map) * ROWS + row) * COLUMNS + left;
            float shift = bias[there ? map : 0];
#if WINNERS
            store_winners(out + to, where + to, sum[m], shift, there ? rows : 0, columns, row, left);
#else
            store(out + to, sum[m], shift, there ? rows : 0, columns, row, left);
#endif
        }
    }
}
