// mma: transposed convolution of argmax gradients on tensor cores, windows as rows.
//
// In `gathered` a pixel looks at every window that it may have met, and two looks in three find an
// argmax elsewhere. Here gradients are among the zeros of their windows, and whole windows are
// multiplied: an instruction's 16 rows are eight adjacent windows of two images, its terms the four
// columns of a window's row of some maps, and its columns the pixels that these met, two columns of
// four channels a time, by masks moved to each of the window's columns. A warp makes BAND rows of
// pixels: a row of the masks is read once for all of them, and a row of outputs moves on from one
// to the next. The parts of adjacent windows in the same pixels are added by shuffles. What it
// removes: looks that find nothing, and all but a few of shared memory's reads.
//
// Zeros make NaN of infinities: such pixels are recomputed from their gradients.
//
// dy and where: see common/places.h, x: see before.h, weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// dx[images][CHANNELS][HEIGHT][WIDTH].
// Grid: x over pairs of images, which blocks share out; y over four channels each.
// Block: WARPS warps, which share out the rows of pixels.

#include "common/mma.h"
#include "common/pipelines/pdl.h"
#include "common/tf32.h"
#include "conv2d_input_gradient/gpu/before.h"
#define ROUND(value) tf32(value)
#define MENDED 4
#include "conv2d_input_gradient/gpu/mma/mend.h"

#define SIDE 4
#define WINDOWS 8
#define STEPS 4
// Maps of a group of instructions, two of each.
#define GROUP_MAPS (2 * STEPS)
#define GROUPS ((MAPS + GROUP_MAPS - 1) / GROUP_MAPS)
#define SLOTS (GROUPS * GROUP_MAPS)
#define HELD_ROWS (ROWS + 1)
#define PAIRS ((SIDE + MASK_WIDTH) / 2)
#define BANDS ((HEIGHT + 2 * PAD_Y + BAND - 1) / BAND)
// Bytes of a copy of an image's gradients or places.
#if MAPS * GRADIENTS % 4 == 0
#define PIECE float4
#else
#define PIECE float
#endif
#if WHERE_NARROW
#define PIECE_PLACES unsigned
#else
#define PIECE_PLACES PIECE
#endif
#define GIVEN (MAPS * GRADIENTS)
#define PIECES (GIVEN * 4 / (int)sizeof(PIECE))
#define VECTORS (PAD_X == 0 && WIDTH % 4 == 0)

// Masks as the lanes multiply them, taps[MASK_HEIGHT][GROUPS][STEPS][PAIRS][32]: a lane has a column
// of pixels of a channel and a column of the window.
__device__ __forceinline__ void hold_masks(const float* weights, uint2* taps, int first)
{
    for (int at = threadIdx.x; at < MASK_HEIGHT * GROUPS * STEPS * PAIRS * 32; at += 32 * WARPS) {
        int lane = at % 32, pair = at / 32 % PAIRS, step = at / 32 / PAIRS % (GROUPS * STEPS);
        int p = at / 32 / PAIRS / (GROUPS * STEPS), channel = first + lane / 8;
        int q = 2 * pair + lane / 4 % 2 - lane % 4;
        unsigned two[2];
        UNROLL for (int half = 0; half < 2; half++) {
            int map = 2 * step + half;
            int there = map < MAPS && channel < CHANNELS && q >= 0 && q < MASK_WIDTH;
            int tap = ((map * CHANNELS + channel) * MASK_HEIGHT + p) * MASK_WIDTH + q;
            two[half] = __float_as_uint(tf32(there ? weights[tap] : 0.0f));
        }
        taps[at] = make_uint2(two[0], two[1]);
    }
}

// Starts to copy the gradients of two images and, behind them, their places to
// [2][MAPS][GRADIENTS].
__device__ __forceinline__ void start(const float* dy, const winner_place* where, float* given,
                                      int n, int images)
{
    for (int at = threadIdx.x; at < 2 * PIECES; at += 32 * WARPS)
        if (n + at / PIECES < images) {
            int64 from = (int64)n * PIECES + at;
            COPY_ASYNC(PIECE, (PIECE*)given + at, (const PIECE*)dy + from);
            COPY_ASYNC(PIECE_PLACES, (PIECE_PLACES*)(given + 2 * GIVEN) + at,
                       (const PIECE_PLACES*)where + from);
        }
}

// Gradients of two images, held[2][HELD_ROWS][SLOTS][WINDOWS], each with its number in its window;
// the last row's are zeros.
__device__ __forceinline__ void hold_gradients(const float* given, uint2* held, int n, int images)
{
    for (int at = threadIdx.x; at < 2 * HELD_ROWS * SLOTS * WINDOWS; at += 32 * WARPS) {
        int column = at % WINDOWS, map = at / WINDOWS % SLOTS, r = at / WINDOWS / SLOTS % HELD_ROWS;
        int image = at / WINDOWS / SLOTS / HELD_ROWS;
        uint2 one = make_uint2(0, 0);
        if (n + image < images && r < ROWS && column < COLUMNS && map < MAPS) {
            int number = (image * MAPS + map) * GRADIENTS + r * COLUMNS + column;
            winner_place place = ((const winner_place*)(given + 2 * GIVEN))[number];
            spot won = spot_of(place, r * COLUMNS + column);
            one.x = __float_as_uint(tf32(OF_WINNER(given[number], place)));
            one.y = (won.row - r * SIDE) * SIDE + won.column - column * SIDE;
        }
        held[at] = one;
    }
}

// The operands of a row of outputs of both images: zeros but for winners.
__device__ __forceinline__ void take(unsigned word[STEPS][4], const uint2* held, int group, int row)
{
    int lane = threadIdx.x % 32, r = row >= 0 && row < ROWS * SIDE ? row / SIDE : ROWS;
    unsigned wanted = (row & SIDE - 1) * SIDE + lane % 4;
    UNROLL for (int s = 0; s < STEPS; s++)
        UNROLL for (int k = 0; k < 4; k++) {
            int image = k % 2, slot = group * GROUP_MAPS + 2 * s + k / 2;
            uint2 one = held[((image * HELD_ROWS + r) * SLOTS + slot) * WINDOWS + lane / 4];
            word[s][k] = one.y == wanted ? one.x : 0;
        }
}

// Adds what all rows of outputs brought to a band of BAND rows of pixels, from `top` on.
__device__ __forceinline__ void add_band(float sum[BAND][PAIRS][4], const uint2* taps,
                                         const uint2* held, int top)
{
    int lane = threadIdx.x % 32;
    UNROLL for (int i = 0; i < BAND; i++)
        UNROLL for (int pair = 0; pair < PAIRS; pair++)
            UNROLL for (int k = 0; k < 4; k++) sum[i][pair][k] = 0.0f;
    ROLLED for (int group = 0; group < GROUPS; group++) {
        unsigned word[BAND][STEPS][4];
        UNROLL for (int i = 0; i < BAND; i++) take(word[i], held, group, top + i);
        ROLLED for (int p = 0; p < MASK_HEIGHT; p++) {
            if (top + BAND > p && top - p < ROWS * SIDE)
                UNROLL for (int s = 0; s < STEPS; s++)
                    UNROLL for (int pair = 0; pair < PAIRS; pair++) {
                        int at = ((p * GROUPS + group) * STEPS + s) * PAIRS + pair;
                        uint2 two = taps[at * 32 + lane];
                        unsigned tap[2] = {two.x, two.y};
                        UNROLL for (int i = 0; i < BAND; i++)
                            multiply_add(sum[i][pair], word[i][s], tap);
                    }
            UNROLL for (int i = BAND - 1; i > 0; i--)
                UNROLL for (int s = 0; s < STEPS; s++)
                    UNROLL for (int k = 0; k < 4; k++) word[i][s][k] = word[i - 1][s][k];
            if (p + 1 < MASK_HEIGHT) take(word[0], held, group, top - p - 1);
        }
    }
}

// The sums of adjacent windows in a row of an image: for the four pixels below the lane's window,
// and for the pixels below the window eight further.
__device__ __forceinline__ void join(const float sum[PAIRS][4], int image, float pixel[2][4])
{
    int lane = threadIdx.x % 32, column = lane / 4;
    UNROLL for (int far = 0; far < 2; far++)
        UNROLL for (int v = 0; v < 4; v++) pixel[far][v] = 0.0f;
    UNROLL for (int pair = 0; pair < PAIRS; pair++)
        UNROLL for (int e = 0; e < 2; e++) {
            int by = pair / 2, v = pair % 2 * 2 + e;
            float value = sum[pair][2 * image + e];
            if (by > 0) value = __shfl_sync(~0u, value, (lane - 4 * by) & 31);
            if (column >= by) pixel[0][v] += value;
            else pixel[1][v] += value;
        }
}

// The first of the lane's pixels in a row of an existing image: below its window, or eight further.
#define LEFT(far) ((threadIdx.x % 32 / 4 + (far) * WINDOWS) * SIDE - PAD_X)

#if BEFORE
// Which of eight pixels of a row have a slope, a bit each: relu's is one or none.
__device__ __forceinline__ unsigned slopes(const float* x, int64 row)
{
    unsigned bits = 0;
    UNROLL for (int far = 0; far < 2; far++) {
        float four[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        int left = LEFT(far);
        if (VECTORS) {
            if (left < WIDTH) *(float4*)four = *(const float4*)(x + row + left);
        } else {
            UNROLL for (int v = 0; v < 4; v++)
                if (left + v >= 0 && left + v < WIDTH) four[v] = x[row + left + v];
        }
        UNROLL for (int v = 0; v < 4; v++) bits |= (four[v] > 0.0f) << (4 * far + v);
    }
    return bits;
}
#define SLOPES(x, row) slopes(x, row)
#define SLOPED(value, bits, k) ((value) * ((bits) >> (k) & 1 ? 1.0f : 0.0f))
#else
#define SLOPES(x, row) 0
#define SLOPED(value, bits, k) (value)
#endif

// Four pixels of a row; whether one of them is NaN.
__device__ __forceinline__ bool store(const float pixel[4], unsigned bits, float* dx, int64 row, int far)
{
    bool nan = false;
    int left = LEFT(far);
    float found[4];
    UNROLL for (int v = 0; v < 4; v++) {
        bool inside = left + v >= 0 && left + v < WIDTH;
        found[v] = inside ? SLOPED(pixel[v], bits, 4 * far + v) : 0.0f;
        nan |= found[v] != found[v];
        if (!VECTORS && inside) dx[row + left + v] = found[v];
    }
    if (VECTORS && left < WIDTH)
        *(float4*)(dx + row + left) = make_float4(found[0], found[1], found[2], found[3]);
    return nan;
}

// Of a band's rows of pixels, whether there is one, and where it begins.
#define Y(i) (band * BAND + (i) - PAD_Y)
#define THERE(i, image) (n + (image) < images && channel < CHANNELS && Y(i) >= 0 && Y(i) < HEIGHT)
#define ROW(i, image) ((((int64)(n + (image)) * CHANNELS + channel) * HEIGHT + Y(i)) * WIDTH)

__global__ void RESIDENT_BOUNDS(32 * WARPS, BLOCKS)
mma_tf32(const GLOBAL float* dy, WHERE_ARGUMENT X_ARGUMENT const GLOBAL float* weights,
         GLOBAL float* __restrict__ dx, int images)
{
    extern __shared__ __align__(16) uint2 taps[];
    GRIDDEPCONTROL_WAIT();
    uint2* held = taps + MASK_HEIGHT * GROUPS * STEPS * PAIRS * 32;
    float* given = (float*)(held + 2 * HELD_ROWS * SLOTS * WINDOWS);
    int lane = threadIdx.x % 32, channel = blockIdx.y * 4 + lane % 4;
    start(dy, where, given, 2 * blockIdx.x, images);
    hold_masks(weights, taps, blockIdx.y * 4);

    for (int n = 2 * blockIdx.x; n < images; n += 2 * gridDim.x) {
        COPIES_DONE();
        __syncthreads();
        hold_gradients(given, held, n, images);
        __syncthreads();
        start(dy, where, given, n + 2 * gridDim.x, images);
        for (int band = threadIdx.x / 32; band < BANDS; band += WARPS) {
            // Slopes are asked for before there is anything to multiply by them.
            unsigned bits[BAND][2];
            UNROLL for (int i = 0; i < BAND; i++)
                UNROLL for (int image = 0; image < 2; image++)
                    bits[i][image] = THERE(i, image) ? SLOPES(x, ROW(i, image)) : 0;
            float sum[BAND][PAIRS][4];
            add_band(sum, taps, held, band * BAND);
            UNROLL for (int i = 0; i < BAND; i++)
                UNROLL for (int image = 0; image < 2; image++) {
                    float pixel[2][4];
                    join(sum[i], image, pixel);
                    int64 row = ROW(i, image);
                    bool there = THERE(i, image);
                    UNROLL for (int far = 0; far < 2; far++)
                        if (there && store(pixel[far], bits[i][image], dx, row, far))
                            mend(dy, where, X_GIVEN weights, dx, n + image, channel, Y(i), LEFT(far));
                }
        }
    }
}
