// mma: transposed convolution of argmax gradients on tensor cores, pixels as rows.
//
// In `gathered` a pixel looks at every window that it may have met, and two looks in three find an
// argmax elsewhere. Here gradients are in shared memory at their argmax, in 16 bits, among zeros,
// 16 maps adjacent, and all of it is multiplied: an instruction's rows are 16 pairs of neighbouring
// pixels, four adjacent pairs in four bands of rows; its terms are the maps, its columns both
// pixels of four channels, by masks moved to each of the two. A warp makes BAND rows of its pairs:
// a row of gradients is read once for all rows of pixels that it reaches.
// What it removes: looks that find nothing, and all but a few of shared memory's reads.
//
// A window's gradient clears the last one's place, then takes its own; the zeros around stay.
// Zeros make NaN of infinities: such pixels are recomputed from their gradients.
//
// dy and where: see common/places.h, x: see before.h, weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// dx[images][CHANNELS][HEIGHT][WIDTH]; dy and dx in float or, with DY_NARROW and OUT_NARROW, in 16
// bits.
// Grid: x over images, which blocks share out; y over four channels each.
// Block: WARPS warps, which share out the pairs of pixels.

#include "common/mma.h"
#include "common/narrow.h"
#include "common/pipelines/pdl.h"
#include "conv2d_input_gradient/gpu/before.h"

#define ROUND(value) widened(NARROW(value))
#define THREADS (32 * WARPS)
// Pairs of pixels of a warp: a number of adjacent ones, in a number of bands of rows.
#define TILE_PAIRS 4
#define TILE_BANDS 4
#define TILES_ACROSS ((WIDTH + 2 * TILE_PAIRS - 1) / (2 * TILE_PAIRS))
#define TILES_DOWN ((HEIGHT + TILE_BANDS * BAND - 1) / (TILE_BANDS * BAND))
// Places of a pair's first pixel among gradients that it met, each of which is an instruction.
#define SHIFTS (MASK_WIDTH + 1)
// Maps of an instruction; eight of them are a unit of memory.
#define GROUP 16
#define GROUPS ((MAPS + GROUP - 1) / GROUP)
#define STEPS (GROUPS * SHIFTS)
// plane[GROUPS][2 units][2: columns even, odd][PLANE_ROWS][PITCH]
#define PLANE (PLANE_ROWS * PITCH)
#define PLANES (GROUPS * 2 * 2 * PLANE)
#define WINNERS (MAPS * GRADIENTS)
#define HELD ((WINNERS + THREADS - 1) / THREADS)
#define MENDED 2
#include "conv2d_input_gradient/gpu/mma/mend.h"

// Masks as the lanes multiply them, taps[GROUPS][SHIFTS][MASK_HEIGHT][32]: a lane has a pixel of a
// channel and four maps.
__device__ __forceinline__ void hold_masks(const float* weights, uint2* taps, int first)
{
    for (int at = threadIdx.x; at < GROUPS * SHIFTS * MASK_HEIGHT * 32; at += THREADS) {
        int lane = at % 32, p = at / 32 % MASK_HEIGHT, shift = at / 32 / MASK_HEIGHT % SHIFTS;
        int group = at / 32 / MASK_HEIGHT / SHIFTS, channel = first + lane / 8;
        int q = lane / 4 % 2 + MASK_WIDTH - 1 - shift;
        float tap[4];
        UNROLL for (int k = 0; k < 4; k++) {
            int map = group * GROUP + k / 2 * 8 + lane % 4 * 2 + k % 2;
            int there = map < MAPS && channel < CHANNELS && q >= 0 && q < MASK_WIDTH;
            tap[k] = there ? weights[((map * CHANNELS + channel) * MASK_HEIGHT + p) * MASK_WIDTH + q]
                           : 0.0f;
        }
        taps[at] = make_uint2(pack(tap[0], tap[1]), pack(tap[2], tap[3]));
    }
}

// The index in the planes of a map's gradient with its argmax at a place.
__device__ __forceinline__ int stand(int map, spot won)
{
    int row = won.row + MASK_HEIGHT - 1, column = won.column + MASK_WIDTH - 1;
    return (((map / 8 * 2 + column % 2) * PLANE_ROWS + row) * PITCH + column / 2) * 8 + map % 8;
}

// The same of an image's winner, of which its place is given.
#define STAND(number, given) stand((number) / GRADIENTS, spot_of(given, (number) % GRADIENTS))

// A thread's gradients of an image, and their places.
__device__ __forceinline__ void fetch(const gradient_number* dy, const winner_place* where, int n,
                                      int images, float gradient[HELD], int place[HELD])
{
    UNROLL for (int k = 0; k < HELD; k++) {
        int at = threadIdx.x + k * THREADS, there = n < images && at < WINNERS;
        gradient[k] = there ? WIDE_GRADIENT(dy[(int64)n * WINNERS + at]) : 0.0f;
        place[k] = there ? where[(int64)n * WINNERS + at] : 0;
    }
}

// Four matrices of eight units: the lane gives a row's address.
__device__ __forceinline__ void load(unsigned word[4], const uint4* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)));
}

#define VECTORS (WIDTH % 2 == 0)
typedef struct __align__(2 * sizeof(given)) { given of[2]; } given_two;
// Rows of which a lane asks x in a step.
#define ASKED ((BAND + STEPS - 1) / STEPS)

// A lane's two pairs of pixels: rows of the band in which they are, and the index of the first
// pixel of the first row in x and dx.
typedef struct {
    int rows[2], left[2];
    int64 first[2];
} Pairs;

__device__ __forceinline__ Pairs pairs_of(int64 plane, int there, int across, int down)
{
    Pairs of;
    UNROLL for (int half = 0; half < 2; half++) {
        int row = threadIdx.x % 32 / 4 + 8 * half;
        int top = (down * TILE_BANDS + row / TILE_PAIRS) * BAND;
        int left = 2 * (across * TILE_PAIRS + row % TILE_PAIRS);
        int rows = HEIGHT - top < BAND ? HEIGHT - top : BAND;
        of.rows[half] = there && left < WIDTH ? rows : 0;
        of.left[half] = left;
        of.first[half] = (plane * HEIGHT + top) * WIDTH + left;
    }
    return of;
}

// Of some rows of the lane's pairs, from row `begin` on, x.
__device__ __forceinline__ void ask(const given* x, Pairs of, int begin, float2 asked[ASKED][2])
{
    UNROLL for (int e = 0; e < ASKED; e++)
        UNROLL for (int half = 0; half < 2; half++) {
            const given* from = x + of.first[half] + (begin + e) * WIDTH;
            given_two two = {};
            if (begin + e < of.rows[half]) {
                if (VECTORS) two = *(const given_two*)from;
                else two.of[0] = *from;
                if (!VECTORS && of.left[half] + 1 < WIDTH) two.of[1] = from[1];
            }
            asked[e][half] = make_float2(WIDE(two.of[0]), WIDE(two.of[1]));
        }
}

// Which pixels of the lane's pairs have a slope, four bits a row: relu's is one or none.
__device__ __forceinline__ unsigned long long slopes(int begin, const float2 asked[ASKED][2])
{
    unsigned long long bits = 0;
    UNROLL for (int e = 0; e < ASKED; e++)
        UNROLL for (int half = 0; half < 2; half++) {
            unsigned long long two = (asked[e][half].x > 0.0f) | (asked[e][half].y > 0.0f) << 1;
            if (begin + e < BAND) bits |= two << 4 * (begin + e) + 2 * half;
        }
    return bits;
}

#if BEFORE
#define ASK(begin, asked) ask(x, of, begin, asked)
#define SLOPES(begin, asked) slopes(begin, asked)
#define SLOPED(value, slope) ((value) * ((slope) ? 1.0f : 0.0f))
#else
#define ASK(begin, asked)
#define SLOPES(begin, asked) 0
#define SLOPED(value, slope) (value)
#endif

// The sums of gradients for a warp's pairs of pixels; `first` is the lane's row of the planes.
// Tells the pixels with a slope: x is in flight while gradients are multiplied.
__device__ __forceinline__ unsigned long long add_all(float sum[BAND][4], const uint2* taps,
                                                      const uint4* first, X_ARGUMENT Pairs of)
{
    unsigned long long bits = 0;
    UNROLL for (int i = 0; i < BAND; i++)
        UNROLL for (int k = 0; k < 4; k++) sum[i][k] = 0.0f;
    ROLLED for (int step = 0; step < STEPS; step++) {
        float2 asked[ASKED][2];
        ASK(step * ASKED, asked);
        int column = PAD_X + step % SHIFTS;
        const uint4* from = first + (step / SHIFTS * 4 + column % 2) * PLANE + column / 2;
        unsigned tap[MASK_HEIGHT][2];
        UNROLL for (int p = 0; p < MASK_HEIGHT; p++) {
            uint2 two = taps[(step * MASK_HEIGHT + p) * 32 + threadIdx.x % 32];
            tap[p][0] = two.x, tap[p][1] = two.y;
        }
        UNROLL for (int r = 0; r < BAND + MASK_HEIGHT - 1; r++) {
            unsigned word[4];
            load(word, from + r * PITCH);
            UNROLL for (int i = 0; i < BAND; i++) {
                int p = i - r + MASK_HEIGHT - 1;
                if (p >= 0 && p < MASK_HEIGHT) multiply_add(sum[i], word, tap[p]);
            }
        }
        bits |= SLOPES(step * ASKED, asked);
    }
    return bits;
}

__global__ void RESIDENT_BOUNDS(THREADS, BLOCKS)
mma(const GLOBAL gradient_number* dy,
    WHERE_ARGUMENT X_ARGUMENT const GLOBAL float* weights, GLOBAL result* __restrict__ dx,
    int images)
{
    extern __shared__ __align__(16) uint4 plane[];
    GRIDDEPCONTROL_WAIT();
    uint2* taps = (uint2*)(plane + PLANES);
    int lane = threadIdx.x % 32, row = lane % 16, channel = blockIdx.y * 4 + lane % 4;
    float gradient[HELD];
    int place[HELD], stood[HELD];
    fetch(dy, where, blockIdx.x, images, gradient, place);
    for (int at = threadIdx.x; at < PLANES; at += THREADS) plane[at] = make_uint4(0, 0, 0, 0);
    hold_masks(weights, taps, blockIdx.y * 4);
    UNROLL for (int k = 0; k < HELD; k++) stood[k] = STAND(threadIdx.x + k * THREADS, place[k]);

    for (int n = blockIdx.x; n < images; n += gridDim.x) {
        __syncthreads();
        UNROLL for (int k = 0; k < HELD; k++)
            if (threadIdx.x + k * THREADS < WINNERS) {
                ((narrow*)plane)[stood[k]] = 0;
                stood[k] = STAND(threadIdx.x + k * THREADS, place[k]);
                ((narrow*)plane)[stood[k]] = NARROW(OF_WINNER(gradient[k], place[k]));
            }
        __syncthreads();
        fetch(dy, where, n + gridDim.x, images, gradient, place);
        for (int tile = threadIdx.x / 32; tile < TILES_ACROSS * TILES_DOWN; tile += WARPS) {
            int across = tile % TILES_ACROSS, down = tile / TILES_ACROSS;
            Pairs of = pairs_of((int64)n * CHANNELS + channel, channel < CHANNELS, across, down);
            int top = PAD_Y + (down * TILE_BANDS + row / TILE_PAIRS) * BAND;
            int unit = (lane / 16 * 2 * PLANE_ROWS + top) * PITCH;
            float sum[BAND][4];
            unsigned long long bits =
                add_all(sum, taps, plane + unit + across * TILE_PAIRS + row % TILE_PAIRS, X_GIVEN of);
            UNROLL for (int i = 0; i < BAND; i++)
                UNROLL for (int half = 0; half < 2; half++) {
                    if (i >= of.rows[half]) continue;
                    result* to = dx + of.first[half] + i * WIDTH;
                    float2 two;
                    two.x = SLOPED(sum[i][2 * half], bits >> 4 * i + 2 * half & 1);
                    two.y = SLOPED(sum[i][2 * half + 1], bits >> 4 * i + 2 * half & 2);
                    if (VECTORS) *(result_2*)to = RESULT_2(two.x, two.y);
                    else to[0] = RESULT(two.x);
                    if (!VECTORS && of.left[half] + 1 < WIDTH) to[1] = RESULT(two.y);
                    if (two.x != two.x || two.y != two.y)
                        mend(dy, where, X_GIVEN weights, dx, n, channel,
                             (down * TILE_BANDS + (lane / 4 + 8 * half) / TILE_PAIRS) * BAND + i,
                             of.left[half]);
                }
        }
    }
}
