// Rungs 7 to 9, mma: correlation of images with winners on tensor cores.
//
// In `windows` and `lane_rows` each winner asks shared memory for all pixels that its mask met.  Here
// a window is cut into cells of two rows and two columns, and cells are multiplied by the pixels
// around their corners, which all their positions share: an instruction's 16 rows are the positions in
// a cell of some maps, its terms are cells of windows beside each other, and its columns are the
// OFFSETS_Y times OFFSETS_X pixels from the cell's corner on.  A window's gradient stands in its
// winner's row of its winner's cell, among zeros.  A weight is the sum of those results whose position
// and offset it lies between.  What it removes: all but a few of shared memory's reads.  What it costs:
// products with zeros, three in four, or fifteen in sixteen.
//
// Sums are made by block, then by `finish` over the blocks, in a fixed order.  Zeros make NaN of
// infinities: see mend.h.
//
// x[images][CHANNELS][HEIGHT][WIDTH], dy and where: see common/places.h,
// partial[gridDim.x][MAPS][COLUMNS_ALL]: a map's weights, then its bias.
// Grid: x over images, which blocks share out; y over groups of ROLES channels; z over groups of
// BLOCK_MAPS maps.  Block: x over WARPS warps: ROLES share out the channels, SPLITS the windows.

#include "common/mma.h"
#include "conv2d_weights_gradient/gpu/mma/mend.h"

#define THREADS (32 * WARPS)
#define SPLITS (WARPS / ROLES)
#define CELL_SIDE 2
#define CELL (CELL_SIDE * CELL_SIDE)
#define TILE_MAPS (16 / CELL)
#define BLOCK_MAPS (TILES * TILE_MAPS)
// Threads that share out a map's gradients.
#define TEAM (THREADS / BLOCK_MAPS)
// Words of windows beside each other; those of a row are filled up to whole words.
#define ROW_WORDS ((COLUMNS + WORD_WINDOWS - 1) / WORD_WINDOWS)
#define STEPS ((ROWS * ROW_WORDS + 7) / 8)
#define WORDS (8 * STEPS)
// With it four maps lie in banks of their own.
#define HELD_PITCH (WORDS + 4)
// Pixels from a cell's corner on that its masks meet.
#define OFFSETS_Y (MASK_HEIGHT + CELL_SIDE - 1)
#define OFFSETS_X (MASK_WIDTH + CELL_SIDE - 1)
#define COLUMN_TILES ((OFFSETS_Y * OFFSETS_X + 7) / 8)
#define SUM_COLUMNS (8 * COLUMN_TILES)
// What a copy brings of an image's pixels, or of its gradients.
#define PLANE (HEIGHT * WIDTH)
#define GIVEN (BLOCK_MAPS * GRADIENTS)
#if PLANE % 4 == 0 && MAPS * GRADIENTS % 4 == 0 && BLOCK_MAPS * GRADIENTS % 4 == 0
#define PIECE float4
#else
#define PIECE float
#endif
#define PIECE_FLOATS ((int)sizeof(PIECE) / 4)
// Pixels that a thread rounds at a time: all of them lie inside of the image, or beyond it.
#if (WIDTH | PAD_X | PITCH | WINDOW_WIDTH) % 4 == 0
#define RUN 4
#define VECTOR float4
#elif (WIDTH | PAD_X | PITCH) % 2 == 0
#define RUN 2
#define VECTOR float2
#else
#define RUN 1
#define VECTOR float
#endif

// Starts to copy an image's channels, its gradients and their places, to
// given[ROLES * PLANE + 2 * GIVEN].
__device__ __forceinline__ void start(const float* x, const float* dy, const int* where, float* given,
                                      int n)
{
    int channel = blockIdx.y * ROLES, map = blockIdx.z * BLOCK_MAPS;
    int channels = CHANNELS - channel < ROLES ? CHANNELS - channel : ROLES;
    int maps = MAPS - map < BLOCK_MAPS ? MAPS - map : BLOCK_MAPS;
    const float* image = x + ((int64)n * CHANNELS + channel) * PLANE;
    int64 first = ((int64)n * MAPS + map) * GRADIENTS;
    float *gradients = given + ROLES * PLANE, *places = gradients + GIVEN;
    for (int at = threadIdx.x * PIECE_FLOATS; at < channels * PLANE; at += THREADS * PIECE_FLOATS)
        COPY_ASYNC(PIECE, (PIECE*)(given + at), (const PIECE*)(image + at));
    for (int at = threadIdx.x * PIECE_FLOATS; at < maps * GRADIENTS; at += THREADS * PIECE_FLOATS) {
        COPY_ASYNC(PIECE, (PIECE*)(gradients + at), (const PIECE*)(dy + first + at));
        COPY_ASYNC(PIECE, (PIECE*)(places + at), (const PIECE*)(where + first + at));
    }
}

// Pixels as they are multiplied, tile[ROLES][TILE_ROWS][PITCH], zeros around the image: in 16 bits with
// the pixel of the next window beside each.
__device__ __forceinline__ void hold_pixels(const float* given, unsigned* tile)
{
    for (int at = RUN * threadIdx.x; at < ROLES * TILE_ROWS * PITCH; at += RUN * THREADS) {
        int i = at / PITCH % TILE_ROWS - PAD_Y, role = at / PITCH / TILE_ROWS;
        int there = i >= 0 && i < HEIGHT && (int)blockIdx.y * ROLES + role < CHANNELS;
        __align__(16) float pixel[WORD_WINDOWS][RUN];
        UNROLL for (int k = 0; k < WORD_WINDOWS; k++) {
            int j = at % PITCH - PAD_X + k * WINDOW_WIDTH;
            UNROLL for (int v = 0; v < RUN; v++) pixel[k][v] = 0.0f;
            if (there && j >= 0 && j < WIDTH)
                *(VECTOR*)pixel[k] = *(const VECTOR*)(given + role * PLANE + i * WIDTH + j);
        }
        __align__(16) unsigned word[RUN];
        UNROLL for (int v = 0; v < RUN; v++) word[v] = WORD(pixel[0][v], pixel[WORD_WINDOWS - 1][v]);
        *(VECTOR*)(tile + at) = *(const VECTOR*)word;
    }
}

// Gradients of windows, held[BLOCK_MAPS][HELD_PITCH], with bits for the positions of their winners;
// adds those of the thread's map to its bias.
__device__ __forceinline__ void hold_gradients(const float* given, uint2* held, float* bias)
{
    int m = threadIdx.x / TEAM, map_there = (int)blockIdx.z * BLOCK_MAPS + m < MAPS;
    const float *gradients = given + ROLES * PLANE + m * GRADIENTS, *places = gradients + GIVEN;
    for (int at = threadIdx.x % TEAM; at < WORDS; at += TEAM) {
        int r = at / ROW_WORDS;
        float gradient[2] = {0.0f, 0.0f};
        unsigned bits = 0;
        UNROLL for (int k = 0; k < WORD_WINDOWS; k++) {
            int c = at % ROW_WORDS * WORD_WINDOWS + k, number = r * COLUMNS + c;
            if (!map_there || r >= ROWS || c >= COLUMNS) continue;
            int place = __float_as_int(places[number]);
            int row = place / CONV_COLUMNS - r * WINDOW_HEIGHT;
            int column = place % CONV_COLUMNS - c * WINDOW_WIDTH;
            gradient[k] = gradients[number];
            bits |= 1u << (row * WINDOW_WIDTH + column) << 16 * k;
            *bias += ROUND(gradient[k]);
        }
        held[m * HELD_PITCH + at] = make_uint2(WORD(gradient[0], gradient[1]), bits);
    }
}

// Adds the products of those windows of an image's channel that are this warp's.
__device__ __forceinline__ void add_image(float sum[TILES][COLUMN_TILES][4], const unsigned* tile,
                                          const uint2* held, const int offset[COLUMN_TILES])
{
    int lane = threadIdx.x % 32, row = lane / 4;
    ROLLED for (int step = threadIdx.x / 32 / ROLES; step < STEPS; step += SPLITS) {
        uint2 one[TILES][4];
        const unsigned* corner[2];
        UNROLL for (int k = 0; k < 4; k++) {
            int word = 8 * step + lane % 4 + k / 2 * 4;
            // Words beyond the last have no winners.
            int r = word / ROW_WORDS < ROWS ? word / ROW_WORDS : ROWS - 1;
            int column = word % ROW_WORDS * WORD_WINDOWS * WINDOW_WIDTH;
            corner[k / 2] = tile + r * WINDOW_HEIGHT * PITCH + column;
            UNROLL for (int t = 0; t < TILES; t++)
                one[t][k] = held[(t * TILE_MAPS + (row + k % 2 * 8) / CELL) * HELD_PITCH + word];
        }
        UNROLL for (int i = 0; i < WINDOW_HEIGHT; i += CELL_SIDE)
            UNROLL for (int j = 0; j < WINDOW_WIDTH; j += CELL_SIDE) {
                int position = (i + row % CELL / CELL_SIDE) * WINDOW_WIDTH + j + row % CELL_SIDE;
                unsigned word[TILES][4];
                UNROLL for (int t = 0; t < TILES; t++)
                    UNROLL for (int k = 0; k < 4; k++) word[t][k] = WINNERS(one[t][k], position);
                UNROLL for (int o = 0; o < COLUMN_TILES; o++) {
                    int from = i * PITCH + j + offset[o];
                    unsigned pixels[2] = {corner[0][from], corner[1][from]};
                    UNROLL for (int t = 0; t < TILES; t++) multiply_add(sum[t][o], word[t], pixels);
                }
            }
    }
}

// Stores a tile of sums of each warp to joined[WARPS][16][SUM_COLUMNS].
__device__ __forceinline__ void spread(const float sum[COLUMN_TILES][4], float* joined)
{
    int lane = threadIdx.x % 32;
    float* own = joined + threadIdx.x / 32 * 16 * SUM_COLUMNS;
    UNROLL for (int o = 0; o < COLUMN_TILES; o++)
        UNROLL for (int k = 0; k < 4; k++) {
            int row = lane / 4 + k / 2 * 8, column = 8 * o + lane % 4 * 2 + k % 2;
            own[row * SUM_COLUMNS + column] = sum[o][k];
        }
}

// Joins the sums of the warps' tiles `t`: a weight's are those of all positions in a cell.
__device__ __forceinline__ void join(const float* joined, float* partial, int t)
{
    for (int at = threadIdx.x; at < TILE_MAPS * ROLES * TAPS; at += THREADS) {
        int tap = at % TAPS, role = at / TAPS % ROLES, of_tile = at / TAPS / ROLES;
        int channel = blockIdx.y * ROLES + role, map = blockIdx.z * BLOCK_MAPS + t * TILE_MAPS + of_tile;
        float all = 0.0f;
        for (int warp = role; warp < WARPS; warp += ROLES)
            UNROLL for (int v = 0; v < CELL; v++) {
                int i = tap / MASK_WIDTH + v / CELL_SIDE, j = tap % MASK_WIDTH + v % CELL_SIDE;
                all += joined[(warp * 16 + of_tile * CELL + v) * SUM_COLUMNS + i * OFFSETS_X + j];
            }
        if (map < MAPS && channel < CHANNELS)
            partial[((int64)blockIdx.x * MAPS + map) * COLUMNS_ALL + channel * TAPS + tap] = all;
    }
}

// Joins what the threads of a team added to their map's bias.
__device__ __forceinline__ void join_biases(float bias, float* joined, float* partial)
{
    joined[threadIdx.x] = bias;
    __syncthreads();
    int map = blockIdx.z * BLOCK_MAPS + threadIdx.x;
    if (threadIdx.x >= BLOCK_MAPS || map >= MAPS || blockIdx.y > 0) return;
    float all = 0.0f;
    for (int k = 0; k < TEAM; k++) all += joined[threadIdx.x * TEAM + k];
    partial[((int64)blockIdx.x * MAPS + map) * COLUMNS_ALL + CHANNELS * TAPS] = all;
}

__global__ void RESIDENT_BOUNDS(THREADS, BLOCKS)
weights_partial(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ dy,
                WHERE_ARGUMENT GLOBAL float* __restrict__ partial, int images)
{
    extern __shared__ __align__(16) float given[];
    uint2* held = (uint2*)(given + GIVEN_FLOATS);
    unsigned* tile = (unsigned*)(held + BLOCK_MAPS * HELD_PITCH);
    // Where a lane's column of pixels lies from a cell's corner; columns beyond the last count for no
    // weight.
    int offset[COLUMN_TILES];
    UNROLL for (int o = 0; o < COLUMN_TILES; o++) {
        int column = 8 * o + threadIdx.x % 32 / 4;
        offset[o] = column < OFFSETS_Y * OFFSETS_X ? column / OFFSETS_X * PITCH + column % OFFSETS_X : 0;
    }
    float sum[TILES][COLUMN_TILES][4], bias = 0.0f;
    UNROLL for (int t = 0; t < TILES; t++)
        UNROLL for (int o = 0; o < COLUMN_TILES; o++)
            UNROLL for (int k = 0; k < 4; k++) sum[t][o][k] = 0.0f;
    start(x, dy, where, given, blockIdx.x);

    for (int n = blockIdx.x; n < images; n += gridDim.x) {
        COPIES_DONE();
        __syncthreads();
        hold_pixels(given, tile);
        hold_gradients(given, held, &bias);
        __syncthreads();
        if (n + gridDim.x < images) start(x, dy, where, given, n + gridDim.x);
        add_image(sum, tile + threadIdx.x / 32 % ROLES * TILE_ROWS * PITCH, held, offset);
    }

    UNROLL for (int t = 0; t < TILES; t++) {
        __syncthreads();
        spread(sum[t], given);
        __syncthreads();
        join(given, partial, t);
    }
    __syncthreads();
    join_biases(bias, given, partial);
}
