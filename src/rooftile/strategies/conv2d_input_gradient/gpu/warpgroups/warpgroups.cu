// Rungs 7 to 9, warpgroups: whole windows by Hopper's warpgroups, and their sums in registers.
//
// In `spread` each pair of pixels is multiplied with all gradients around it, and a tile of them reads
// shared memory for every few products.  Here rows of a product are the 64 windows of an image, its
// terms 16 maps, and its columns the pixels that a window reaches in the mask's rows, of four channels.
// For each position of a window there is one product: of gradients that won there, zero in place of
// others, which a lane chooses from registers, with masks moved to that position.  A warpgroup's sums
// are all that windows bring; what neighbours bring to the same pixel is added once, at the end.
// While one warpgroup does that, the block's other one multiplies: they take turns.
// What it removes: half of the products with zeros, and most reads of shared memory.
//
// Zeros make NaN of infinities: such pixels are made anew from what they met.
//
// dy and where: see common/places.h, weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// dx[images][CHANNELS][HEIGHT][WIDTH]; dy and dx in float or, with DY_NARROW and OUT_NARROW, in 16
// bits.
// Grid: x over images, which blocks share out, two at a time; y over four channels each.
// Block: two warpgroups, each with an image.

#include "common/overlapping.h"
#include "common/warpgroups.h"
#include "conv2d_input_gradient/gpu/warpgroups/masks.h"
#include "conv2d_input_gradient/gpu/warpgroups/winners.h"
#include "conv2d_input_gradient/gpu/warpgroups/pixels.h"

// From a row of the mask to the next, in a descriptor.
#define LINE (CHUNKS * 128 >> 4)
// Whether the other warpgroup's turn begins before the sums are held in shared memory: few products are
// over too soon to be worth that both use it.
#define EARLY (CORES == TF32)

// Adds the products of an image's windows, once it is the warpgroup's turn.  Says whether a gradient is
// infinite or NaN.
__device__ __forceinline__ int multiply_all(float sum[LINES][2 * SIDE], unsigned masks,
                                            const gradient_number* given, unsigned turn, int round)
{
    unsigned a[2][4] = {};
    Winners own = winners_of(given, 0);
    float doubt = own.doubt;
    UNROLL for (int i = 0; i < LINES; i++)
        UNROLL for (int k = 0; k < 2 * SIDE; k++) sum[i][k] = 0.0f;
    BEGIN_SUMS;
    wait(turn, round & 1);
    ROLLED for (int group = 0; group < GROUPS; group++) {
        if (group > 0) own = winners_of(given, group), doubt += own.doubt;
        UNROLL for (int each = 0; each < POSITIONS * DEEP; each++) {
            int position = each / DEEP, step = each % DEEP, half = each % 2;
            int row = position / WINDOW_WIDTH, column = position % WINDOW_WIDTH;
            word b = PIECES_AT(masks + MASK_AT(column, group, step), LINE_PIECES * 128);
            COMPLETED(1, a[half]);
            choose(own, position, step, a[half]);
            BEGIN_PRODUCTS(a[half]);
            // Rows of registers that a product adds to overlap no others but its own.
            UNROLL for (int i = row; i < row + MASK_HEIGHT; i++)
                if (i < WINDOW_HEIGHT - 1 || i >= MASK_HEIGHT)
                    MULTIPLY_LINE(i, a[half], b + (i - row) * LINE);
            MULTIPLY_MIDDLE(a[half], b + (WINDOW_HEIGHT - 1 - row) * LINE);
            end_products();
        }
    }
    return doubt != doubt;
}

__global__ void RESIDENT_BOUNDS(256, 1)
input_gradient(const GLOBAL gradient_number* dy, WHERE_ARGUMENT const GLOBAL float* weights,
               GLOBAL result* __restrict__ dx, int images)
{
    extern __shared__ __align__(128) char shared[];
    __shared__ word turns[2];
    __shared__ int doubtful[2][2];
    int group = threadIdx.x / 128, leads = threadIdx.x % 128 == 0, first = blockIdx.y * 4;
    unsigned masks = (unsigned)__cvta_generic_to_shared(shared);
    unsigned mine = (unsigned)__cvta_generic_to_shared(turns + group);
    unsigned other = (unsigned)__cvta_generic_to_shared(turns + (group ^ 1));
    char* own = shared + MASKS_BYTES + group * OWN_BYTES;
    char* lines = own + 2 * GIVEN_BYTES;
    Rooms rooms = {(float*)lines, (result*)(lines + LINE_AT(4, 1) * sizeof(float))};
    if (threadIdx.x == 0) expect(4, mine), expect(4, other);
    clear(rooms);
    AWAIT_EARLIER();
    start(dy, where, (gradient_number*)own, 2 * blockIdx.x + group, images);
    int doubt = hold_masks(weights, shared, first);
    shared_ready();
    doubt = __syncthreads_or(doubt);
    if (leads) doubtful[group][0] = doubt;
    COPIES_DONE();
    together(group);

    int rounds = (images + 2 * gridDim.x - 1) / (2 * gridDim.x);
    for (int round = 0; round < rounds; round++) {
        int n = 2 * (round * gridDim.x + blockIdx.x) + group, half = round & 1;
        gradient_number* now = (gradient_number*)(own + half * GIVEN_BYTES);
        gradient_number* later = (gradient_number*)(own + (half ^ 1) * GIVEN_BYTES);
        start(dy, where, later, n + 2 * gridDim.x, images);
        float sum[LINES][2 * SIDE];
        int hard = multiply_all(sum, masks, now, mine, round ^ group ^ 1);
        if (EARLY && threadIdx.x % 32 == 0) arrive(other);
        if (hard) doubtful[group][half] = 1;
        COMPLETED_SUMS;
        line lines[MET_LINES];
        join(sum, lines);
        hold(lines, rooms.lines);
        if (!EARLY && threadIdx.x % 32 == 0) arrive(other);
        add_up(rooms, 1.0f, group);
        // The next image is there, and this one's pixels.
        COPIES_DONE();
        if (leads) doubtful[group][half ^ 1] = doubt;
        shared_ready();
        together(group);
        if (n >= images) continue;
        if (doubtful[group][half]) {
            mend(rooms.tile, dy, where, weights, n, first);
            shared_ready();
            together(group);
        }
        store(rooms.tile, dx + ((int64)n * CHANNELS + first) * PIXELS, CHANNELS - first);
    }
    STORES_LEFT(0);
}
