// warpgroups: whole windows by Hopper's warpgroups, and their sums in registers.
//
// In `spread` each pair of pixels is multiplied with all gradients around it, and a tile of them
// reads shared memory for every few products. Here rows of a product are the 64 windows of an
// image, and its columns the pixels that a window reaches in the mask's rows, of four channels. For
// each two adjacent positions in a window there is one product. Its terms are 16 maps at both
// positions: gradients with their argmax there, zero in place of others, which a lane chooses from
// registers. A map has its argmax at one of two positions at most, so that the cores skip every
// other term. A warpgroup's sums are the windows' own; neighbours' sums for the same pixel are
// added once, at the end. While one warpgroup does that, the block's other one multiplies: they
// take turns.
// What it removes: three quarters of the products with zeros, and most reads of shared memory.
//
// At float32's error (SPLIT) each number is two of float16, and three products stand for one;
// TF32's 11 bits are one of float16 (SCALED). The parts of small numbers that these miss are added
// separately.
//
// Zeros make NaN of infinities: such pixels are recomputed from their gradients.
//
// dy and where: see common/places.h, weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// dx[images][CHANNELS][HEIGHT][WIDTH]; dy and dx in float or, with DY_NARROW and OUT_NARROW, in 16
// bits.
// Grid: x over images, which blocks share out, two at a time; y over four channels each.
// Block: two warpgroups, each with an image.

#include "common/pipelines/pdl.h"
#include "common/pipelines/wgmma.h"
#include "conv2d_input_gradient/gpu/warpgroups/winners.h"
#include "conv2d_input_gradient/gpu/warpgroups/pixels.h"
#if SCALED
#include "conv2d_input_gradient/gpu/warpgroups/apart.h"
#endif

// From a row of the mask to the next, in a descriptor.
#define LINE (PAIRS * 128 >> 4)

// From a row of the mask to the next, in a descriptor, where a product takes one pair of columns.
#define DOWN ((word)((PAIRS - 1) * 128 >> 4) << 32)

// Begins a product of two positions in a window's row, `column` pairs from its first. Registers
// that an instruction adds to overlap no others but its own: a row of pixels' or, where all
// positions reach a row, a pair of columns', which the others skip. The first that reaches a pixel
// adds to nothing.
__device__ __forceinline__ void multiply(float sum[LINES][2 * SIDE], int row, int column, int first,
                                         const unsigned a[4], word b, unsigned places)
{
    UNROLL for (int i = row; i < row + MASK_HEIGHT; i++)
        if (i < WINDOW_HEIGHT - 1 || i >= MASK_HEIGHT)
            MULTIPLY_LINE(i, a, b + (i - row) * LINE, places,
                          !first || column > 0 || row > 0 && i < row + MASK_HEIGHT - 1);
    word middle = b + (WINDOW_HEIGHT - 1 - row) * LINE + DOWN;
    UNROLL for (int d = column; d <= column + MASK_WIDTH / 2; d++)
        MULTIPLY_MIDDLE(d, a, middle + d * 8, places,
                        !first || row > 0 || column > 0 && d < column + MASK_WIDTH / 2);
}

// Adds the products of an image's windows, once it is the warpgroup's turn, which are too large by the
// scales of weights and gradients.
__device__ __forceinline__ void multiply_all(float sum[LINES][2 * SIDE], unsigned masks,
                                             const gradient_number* given, float scale,
                                             unsigned barrier, int round)
{
    unsigned high[2][4] = {}, low[2][4] = {};
    Winners own = winners_of(given, 0, scale);
    barrier_wait(barrier, round & 1);
    ROLLED for (int group = 0; group < GROUPS; group++) {
        if (group > 0) {
            WGMMA_WAIT_FOR(0, high[0], low[0], own.columns);
            own = winners_of(given, group, scale);
        }
        UNROLL for (int couple = 0; couple < COUPLES; couple++) {
            int half = couple % 2, row = couple / COUPLES_ACROSS, column = couple % COUPLES_ACROSS;
            word with_high = PLAIN_DESCRIPTOR(masks + MASK_AT(column, group), QUARTER_BYTES);
            word with_low = with_high + (LOW_MASKS >> 4);
            WGMMA_WAIT_FOR(1, high[half], low[half], own.columns);
            choose(own.high, own.won, couple, high[half]);
            if (SPLIT) choose(own.low, own.won, couple, low[half]);
            WGMMA_FENCE(high[half], low[half], own.columns);
            if (SPLIT) {
                multiply(sum, row, column, group == 0, high[half], with_low, own.columns);
                multiply(sum, row, column, 0, low[half], with_high, own.columns);
            }
            multiply(sum, row, column, !SPLIT && group == 0, high[half], with_high, own.columns);
            wgmma_commit();
        }
    }
}

__global__ void RESIDENT_BOUNDS(256, 1)
warpgroups(const GLOBAL gradient_number* dy, WHERE_ARGUMENT const GLOBAL float* weights,
           GLOBAL result* __restrict__ dx, int images)
{
    extern __shared__ __align__(128) char shared[];
    __shared__ word turns[2];
    __shared__ Range ranges[2][4];
    __shared__ Scale known[2];
    __shared__ Weights held;
    int group = threadIdx.x / 128, first = blockIdx.y * 4;
    unsigned masks = (unsigned)__cvta_generic_to_shared(shared);
    unsigned mine = (unsigned)__cvta_generic_to_shared(turns + group);
    unsigned other = (unsigned)__cvta_generic_to_shared(turns + (group ^ 1));
    char* own = shared + MASKS_BYTES + group * 2 * GIVEN_BYTES;
    char* rest = shared + MASKS_BYTES + 4 * GIVEN_BYTES;
    char* lines_of_warps = rest + group * ROOM_BYTES;
    Rooms rooms = {(float*)lines_of_warps, (result*)(lines_of_warps + LINES_BYTES)};
    if (threadIdx.x == 0) barrier_init(4, mine), barrier_init(4, other);
    __syncthreads();
    GRIDDEPCONTROL_WAIT();
    start(dy, where, (gradient_number*)own, 2 * blockIdx.x + group, images);
    hold_masks(weights, shared, (float*)rest, &held, first);
    clear(rooms.tile);
    COPIES_DONE();
    measure((gradient_number*)own, ranges[group]);
    together(group);

    int rounds = (images + 2 * gridDim.x - 1) / (2 * gridDim.x);
    for (int round = 0; round < rounds; round++) {
        int n = 2 * (round * gridDim.x + blockIdx.x) + group, half = round & 1;
        gradient_number* now = (gradient_number*)(own + half * GIVEN_BYTES);
        gradient_number* later = (gradient_number*)(own + (half ^ 1) * GIVEN_BYTES);
        start(dy, where, later, n + 2 * gridDim.x, images);
        float sum[LINES][2 * SIDE];
        float scale = scale_of(ranges[group], &held, known + group);
        multiply_all(sum, masks, now, scale, mine, round ^ group ^ 1);
        if (threadIdx.x % 32 == 0) barrier_arrive(other);
        WGMMA_WAIT_FOR_SUMS;
        line lines[MET_LINES];
        join(sum, lines);
        exchange(lines, rooms.lines);
        Scale found = known[group];
        put_all(lines, found.back, rooms.tile);
        // The next image is there, and this one's pixels.
        COPIES_DONE();
        measure(later, ranges[group]);
        fence_proxy_async();
        together(group);
        if (n >= images) continue;
        if (found.hard || found.small || held.count) {
            if (found.hard) mend(rooms.tile, dy, WHERE_GIVEN weights, n, first);
#if SCALED
            else add_apart(rooms.tile, now, weights, &held, found.scale, found.small);
#endif
            fence_proxy_async();
            together(group);
        }
        store(rooms.tile, dx + ((int64)n * CHANNELS + first) * PIXELS, CHANNELS - first);
    }
    TMA_STORE_WAIT(0);
}
