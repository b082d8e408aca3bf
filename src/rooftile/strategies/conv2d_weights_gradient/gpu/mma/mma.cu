// mma: correlation of images with argmax gradients on tensor cores.
//
// In `windows` and `lane_rows` each gradient loads all pixels that its mask met from shared memory.
// Here a window is cut into cells of two columns, and cells are multiplied by the pixels around
// their corners, which all their positions share: an instruction's 16 rows are the positions in a
// cell of some maps, its terms are cells of adjacent windows, and its columns are the OFFSETS_Y
// times OFFSETS_X pixels from the cell's corner on. A window's gradient is in its argmax's row of
// the argmax's cell, among zeros. A weight is the sum of the results whose position and offset it
// is between. What it removes: all but a few of shared memory's reads. What it costs: products with
// zeros, all but one of a window's.
//
// Sums are made by block, then by `finish` over the blocks, in a fixed order.  Zeros make NaN of
// infinities: see mend.h.
//
// x[images][CHANNELS][HEIGHT][WIDTH] in float or, with X_NARROW, in the cores' own type;
// dy, in float or, with DY_NARROW, in that type too, and where: see common/places.h;
// partial[gridDim.x][MAPS][COLUMNS_ALL]: a map's weights, then its bias.
// Grid: x over images, which blocks share out; y over groups of ROLES channels; z over groups of
// BLOCK_MAPS maps.  Block: x over WARPS warps: ROLES share out the channels, TILES the maps, SPLITS the
// windows.

#define FAMILY mma
#include "common/mma.h"
#include "common/pipelines/pdl.h"
#include "conv2d_weights_gradient/gpu/mend.h"

#define THREADS (32 * WARPS)
#define SPLITS (WARPS / ROLES / TILES)
#define CELL_COLUMNS 2
#define CELL (CELL_ROWS * CELL_COLUMNS)
#define TILE_MAPS (16 / CELL)
#define BLOCK_MAPS (TILES * TILE_MAPS)
// Threads that share out a map's gradients.
#define TEAM (THREADS / BLOCK_MAPS)
// A warp's shares.
#define MATES (TEAM < 32 ? TEAM : 32)
// A word's windows stand HALF rows apart; a step has DEEP rows of eight words.
#define HALF ((ROWS + WORD_WINDOWS - 1) / WORD_WINDOWS)
#define ACROSS ((COLUMNS + 7) / 8)
#define STEPS (ACROSS * ((HALF + DEEP - 1) / DEEP))
// Pixels from a cell's corner on that its masks meet.
#define OFFSETS_Y (MASK_HEIGHT + CELL_ROWS - 1)
#define OFFSETS_X (MASK_WIDTH + CELL_COLUMNS - 1)
#define COLUMN_TILES ((OFFSETS_Y * OFFSETS_X + 7) / 8)
#define SUM_COLUMNS (8 * COLUMN_TILES)
// Bytes of a copy of an image's pixels, or of its gradients.
#define PLANE (HEIGHT * WIDTH)
#define GIVEN (BLOCK_MAPS * GIVEN_PITCH)
#define PIECE (GRADIENTS % 4 == 0 ? 4 : 1)
#if DY_NARROW
#define GRADIENTS_PIECE uint2
#elif GRADIENTS % 4 == 0
#define GRADIENTS_PIECE float4
#else
#define GRADIENTS_PIECE float
#endif
// And of as many places; how far a window's rows lie apart among places, and its first one.
#if WHERE_NARROW
#define PLACES_PIECE unsigned
#define PLACE_PITCH WINDOW_WIDTH
#define FIRST_PLACE(r, c) 0
#else
#if GRADIENTS % 4 == 0
#define PLACES_PIECE uint4
#else
#define PLACES_PIECE unsigned
#endif
#define PLACE_PITCH CONV_COLUMNS
#define FIRST_PLACE(r, c) ((r) * WINDOW_HEIGHT * CONV_COLUMNS + (c) * WINDOW_WIDTH)
#endif
#define PLANE_BYTES (PLANE * (X_NARROW ? 2 : 4))
#if PLANE_BYTES % 16 == 0
#define PIXEL_PIECE uint4
#elif PLANE_BYTES % 8 == 0
#define PIXEL_PIECE uint2
#else
#define PIXEL_PIECE unsigned
#endif
#define PIECE_PIXELS ((int)(sizeof(PIXEL_PIECE) / sizeof(given)))
// Pixels that a thread reads at a time: all of them lie inside of the image, or beyond it.
#if (WIDTH | PAD_X) % 4 == 0
#define RUN 4
#elif (WIDTH | PAD_X) % 2 == 0
#define RUN 2
#else
#define RUN 1
#endif
typedef struct __align__(RUN * sizeof(given)) { given of[RUN]; } run;
// Gradients that it reads at a time, of two adjacent words.
#if COLUMNS % 2 == 0
#define BESIDE 2
#else
#define BESIDE 1
#endif
typedef struct __align__(BESIDE * sizeof(gradient_number)) {
    gradient_number of[BESIDE];
} gradients_beside;
typedef struct __align__(BESIDE * sizeof(winner_place)) { winner_place of[BESIDE]; } places_beside;

// Starts to copy an image's channels, to held[ROLES * PLANE].
__device__ __forceinline__ void start_pixels(const given* x, given* held, int n)
{
    int channel = blockIdx.y * ROLES;
    int channels = CHANNELS - channel < ROLES ? CHANNELS - channel : ROLES;
    const given* image = x + ((int64)n * CHANNELS + channel) * PLANE;
    for (int at = threadIdx.x * PIECE_PIXELS; at < channels * PLANE; at += THREADS * PIECE_PIXELS)
        COPY_ASYNC(PIXEL_PIECE, (PIXEL_PIECE*)(held + at), (const PIXEL_PIECE*)(image + at));
}

// Starts to copy its gradients and, behind them, their places, each to [BLOCK_MAPS][GIVEN_PITCH].
__device__ __forceinline__ void start_gradients(const gradient_number* dy, const winner_place* where,
                                                gradient_number* gradients, int n)
{
    winner_place* places = (winner_place*)(gradients + GIVEN);
    int map = blockIdx.z * BLOCK_MAPS, maps = MAPS - map < BLOCK_MAPS ? MAPS - map : BLOCK_MAPS;
    int64 first = ((int64)n * MAPS + map) * GRADIENTS;
    for (int at = threadIdx.x * PIECE; at < maps * GRADIENTS; at += THREADS * PIECE) {
        int to = at / GRADIENTS * GIVEN_PITCH + at % GRADIENTS;
        COPY_ASYNC(GRADIENTS_PIECE, (GRADIENTS_PIECE*)(gradients + to),
                   (const GRADIENTS_PIECE*)(dy + first + at));
        COPY_ASYNC(PLACES_PIECE, (PLACES_PIECE*)(places + to),
                   (const PLACES_PIECE*)(where + first + at));
    }
}

// Pixels as they are multiplied, tile[ROLES][TILE_ROWS][PITCH], zeros around the image: in 16 bits
// each paired with the pixel of the window HALF rows below.
__device__ __forceinline__ void hold_pixels(const given* held, unsigned* tile)
{
    for (int at = 4 * threadIdx.x; at < ROLES * TILE_ROWS * PITCH; at += 4 * THREADS) {
        int role = at / PITCH / TILE_ROWS, channel = blockIdx.y * ROLES + role;
        __align__(16) float pixel[WORD_WINDOWS][4];
        UNROLL for (int k = 0; k < WORD_WINDOWS; k++) {
            int i = at / PITCH % TILE_ROWS - PAD_Y + k * HALF * WINDOW_HEIGHT;
            int there = i >= 0 && i < HEIGHT && channel < CHANNELS;
            const given* row = held + role * PLANE + i * WIDTH;
            UNROLL for (int v = 0; v < 4; v += RUN) {
                int j = at % PITCH - PAD_X + v;
                UNROLL for (int u = 0; u < RUN; u++) pixel[k][v + u] = 0.0f;
                if (!there || j < 0 || j >= WIDTH) continue;
                run some = *(const run*)(row + j);
                UNROLL for (int u = 0; u < RUN; u++) pixel[k][v + u] = WIDE(some.of[u]);
            }
        }
        __align__(16) unsigned word[4];
        UNROLL for (int v = 0; v < 4; v++) word[v] = WORD(pixel[0][v], pixel[WORD_WINDOWS - 1][v]);
        *(uint4*)(tile + at) = *(const uint4*)word;
    }
}

// The bias's part from a thread's share of its map's gradients.
__device__ __forceinline__ float bias_of(const gradient_number* gradients)
{
    const winner_place* places = (const winner_place*)(gradients + GIVEN);
    int map = threadIdx.x / TEAM;
    float sum = 0.0f;
    if ((int)blockIdx.z * BLOCK_MAPS + map < MAPS)
        for (int e = threadIdx.x % TEAM; e < GRADIENTS; e += TEAM) {
            int at = map * GIVEN_PITCH + e;
            sum += ROUND(OF_WINNER(WIDE_GRADIENT(gradients[at]), places[at]));
        }
    return sum;
}

// The windows of two words: their gradients, and how far behind a window's first place its winner
// stands; -1 where there is no window, and beyond all places where it has no winner.
typedef struct {
    gradient_number gradient[WORD_WINDOWS][2];
    int place[WORD_WINDOWS][2];
} Windows;

// The pixels from row r and column c on.
__device__ __forceinline__ Windows windows_of(const gradient_number* gradients, int map, int r, int c)
{
    Windows found;
    const winner_place* places = (const winner_place*)(gradients + GIVEN);
    UNROLL for (int k = 0; k < WORD_WINDOWS; k++) {
        int i = r + k * HALF, at = map * GIVEN_PITCH + i * COLUMNS + c;
        // Parts that every problem of these sizes has are not tested for.
        int there = (HALF % DEEP == 0 || r < HALF) && (ROWS % WORD_WINDOWS == 0 || i < ROWS)
                    && (MAPS % BLOCK_MAPS == 0 || (int)blockIdx.z * BLOCK_MAPS + map < MAPS);
        UNROLL for (int v = 0; v < 2; v++) found.gradient[k][v] = 0, found.place[k][v] = -1;
        UNROLL for (int v = 0; v < 2; v += BESIDE) {
            if (!there || (COLUMNS % 8 > 0 && c + v >= COLUMNS)) continue;
            gradients_beside some = *(const gradients_beside*)(gradients + at + v);
            places_beside won = *(const places_beside*)(places + at + v);
            UNROLL for (int u = 0; u < BESIDE; u++) {
                found.gradient[k][v + u] = some.of[u];
                found.place[k][v + u] = won.of[u] - FIRST_PLACE(i, c + v + u);
            }
        }
    }
    return found;
}

// A word of gradients of those winners that stand in one place of their windows, zero in place of
// others.
__device__ __forceinline__ unsigned winners(Windows some, int word, int place)
{
    gradient_number gradient[WORD_WINDOWS];
    UNROLL for (int k = 0; k < WORD_WINDOWS; k++)
        gradient[k] = some.place[k][word] == place ? some.gradient[k][word] : (gradient_number)0;
    return GRADIENTS_WORD(gradient[0], gradient[WORD_WINDOWS - 1]);
}

// Adds the products of this warp's channel, maps and windows of an image.
__device__ __forceinline__ void add_image(float sum[COLUMN_TILES][4], const unsigned* tile,
                                          const gradient_number* gradients)
{
    int lane = threadIdx.x % 32, row = lane / 4, warp = threadIdx.x / 32;
    int map = warp / ROLES % TILES * TILE_MAPS + row / CELL;
    ROLLED for (int step = warp / ROLES / TILES; step < STEPS; step += SPLITS)
        UNROLL for (int d = 0; d < DEEP; d++) {
            int r = step / ACROSS * DEEP + d, c = step % ACROSS * 8 + lane % 4 * 2;
            const unsigned* corner = tile + r * WINDOW_HEIGHT * PITCH + c * WINDOW_WIDTH;
            Windows some[2] = {windows_of(gradients, map, r, c),
                               windows_of(gradients, map + 8 / CELL, r, c)};
            // Cells one above another meet the same pixels.
            UNROLL for (int j = 0; j < WINDOW_WIDTH; j += CELL_COLUMNS)
                UNROLL for (int i = 0; i < WINDOW_HEIGHT; i += CELL_ROWS) {
                    int place = (i + row % CELL / CELL_COLUMNS) * PLACE_PITCH + j + row % CELL_COLUMNS;
                    unsigned word[4];
                    UNROLL for (int k = 0; k < 4; k++) word[k] = winners(some[k % 2], k / 2, place);
                    UNROLL for (int o = 0; o < COLUMN_TILES; o++) {
                        int column = 8 * o + row, from = i * PITCH + j;
                        // Columns beyond the last count for no weight.
                        if (column < OFFSETS_Y * OFFSETS_X)
                            from += column / OFFSETS_X * PITCH + column % OFFSETS_X;
                        unsigned pixels[2] = {corner[from], corner[from + WINDOW_WIDTH]};
                        multiply_add(sum[o], word, pixels);
                    }
                }
        }
}

// Stores the sums of each warp to joined[WARPS][16][SUM_COLUMNS].
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

// Joins the sums of the warps: a weight's are all positions' in a cell.
__device__ __forceinline__ void join(const float* joined, float* partial)
{
    for (int at = threadIdx.x; at < BLOCK_MAPS * ROLES * TAPS; at += THREADS) {
        int tap = at % TAPS, role = at / TAPS % ROLES, of_block = at / TAPS / ROLES;
        int channel = blockIdx.y * ROLES + role, map = blockIdx.z * BLOCK_MAPS + of_block;
        float all = 0.0f;
        for (int warp = of_block / TILE_MAPS * ROLES + role; warp < WARPS; warp += ROLES * TILES)
            UNROLL for (int v = 0; v < CELL; v++) {
                int row = of_block % TILE_MAPS * CELL + v;
                int i = tap / MASK_WIDTH + v / CELL_COLUMNS, j = tap % MASK_WIDTH + v % CELL_COLUMNS;
                all += joined[(warp * 16 + row) * SUM_COLUMNS + i * OFFSETS_X + j];
            }
        if (map < MAPS && channel < CHANNELS)
            partial[((int64)blockIdx.x * MAPS + map) * COLUMNS_ALL + channel * TAPS + tap] = all;
    }
}

// Joins the parts of a team's threads in their map's bias: a warp's, and the warps'.
__device__ __forceinline__ void join_biases(float bias, float* joined, float* partial)
{
    UNROLL for (int apart = 1; apart < MATES; apart *= 2) bias += __shfl_xor_sync(~0u, bias, apart);
    joined[threadIdx.x] = bias;
    __syncthreads();
    int map = blockIdx.z * BLOCK_MAPS + threadIdx.x;
    if (threadIdx.x >= BLOCK_MAPS || map >= MAPS || blockIdx.y > 0) return;
    float all = 0.0f;
    for (int k = 0; k < TEAM; k += MATES) all += joined[threadIdx.x * TEAM + k];
    partial[((int64)blockIdx.x * MAPS + map) * COLUMNS_ALL + CHANNELS * TAPS] = all;
}

// The address of a stage of gradients and their places.
#define STAGE(turn) ((gradient_number*)((char*)shared + (turn) * STAGE_BYTES))

__global__ void RESIDENT_BOUNDS(THREADS, BLOCKS)
mma(const GLOBAL given* x, const GLOBAL gradient_number* dy,
    WHERE_ARGUMENT GLOBAL float* __restrict__ partial, int images)
{
    extern __shared__ __align__(16) float shared[];
    given* held = (given*)((char*)shared + STAGES * STAGE_BYTES);
    unsigned* tile = (unsigned*)((char*)held + PIXEL_BYTES);
    float sum[COLUMN_TILES][4], bias = 0.0f;
    UNROLL for (int o = 0; o < COLUMN_TILES; o++)
        UNROLL for (int k = 0; k < 4; k++) sum[o][k] = 0.0f;
    GRIDDEPCONTROL_WAIT();
    start_pixels(x, held, blockIdx.x);
    start_gradients(dy, where, STAGE(0), blockIdx.x);

    for (int n = blockIdx.x, turn = 0; n < images; n += gridDim.x, turn ^= STAGES - 1) {
        int next = n + gridDim.x;
        COPIES_DONE();
        __syncthreads();
        hold_pixels(held, tile);
        __syncthreads();
        // The next image's pixels are on their way while this one is multiplied, and its gradients
        // where there is a stage for them.
        if (next < images) start_pixels(x, held, next);
        if (STAGES == 2 && next < images) start_gradients(dy, where, STAGE(turn ^ 1), next);
        bias += bias_of(STAGE(turn));
        add_image(sum, tile + threadIdx.x / 32 % ROLES * TILE_ROWS * PITCH, STAGE(turn));
        if (STAGES == 2) continue;
        __syncthreads();
        if (next < images) start_gradients(dy, where, STAGE(0), next);
    }

    __syncthreads();
    spread(sum, shared);
    __syncthreads();
    join(shared, partial);
    __syncthreads();
    join_biases(bias, shared, partial);
}
