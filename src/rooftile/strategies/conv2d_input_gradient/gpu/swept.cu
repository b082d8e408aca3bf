// swept: a warp sweeps along a row of windows, its lanes are columns and channels.
//
// In `gathered` a pixel looks at all winners that may have met it, of which a third has, and reads a
// weight for each product.  Here a warp walks the winners of a row of windows, from the left to the
// right: all of its lanes take the same one.  A lane is a channel and every eighth column; the pixels
// of its column that the row of windows meets are sums in its registers.  What a winner adds to a
// column are its weights there, which a lane reads as vectors.  Two columns of winners later two
// columns of pixels are whole: their lanes store them, and go on as the next two.
// What it removes: looks that find nothing, and most of the numbers that shared memory is asked for.
//
// A lane also holds the winners of a map, and says of each place in a window whether it has one there:
// so nobody sorts them.  Several warps may share a row's maps.  Columns of all warps that met a pixel
// are added in a fixed order.  Gradients that are zero are left out, unless a weight is an infinity
// or NaN.
//
// dy and where: see common/places.h, x: see before.h, weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// dx[images][CHANNELS][HEIGHT][WIDTH].
// Grid: x over images times BANDS bands of their rows, which blocks share out; y over four channels
// each.  Block: WINDOW_ROWS rows of windows times GROUPS groups of maps, a warp each.

#include "common/pipelines/pdl.h"
#include "conv2d_input_gradient/gpu/before.h"
#include "conv2d_input_gradient/gpu/met.h"

#define THREADS (32 * WINDOW_ROWS * GROUPS)
#define BAND_ROWS ((HEIGHT + BANDS - 1) / BANDS)
#define GROUP_MAPS ((MAPS + GROUPS - 1) / GROUPS)
// Lanes that share a map's windows, and how many each has.
#define HOLDERS (32 / GROUP_MAPS)
#define HELD ((COLUMNS + HOLDERS - 1) / HOLDERS)
// Columns of winners in a step.
#define STEP 2
// Four rows of a mask are a vector: taps[MAPS][QUARTERS][4 channels][8 columns].
#define QUARTERS ((MASK_HEIGHT + 3) / 4)
#define MAP_TAPS (QUARTERS * 32)
// The pixels of a row of windows: swaths[WINDOW_ROWS][GROUPS][SWATH_ROWS][PITCH][4 channels]. After
// eight columns there is a gap, so that threads with four pixels each read other banks.
#define SWATH_ROWS (WINDOW_HEIGHT + MASK_HEIGHT - 1)
#define SWATH_COLUMNS (COLUMNS * WINDOW_WIDTH + 8 - STEP)
#define AT(column) ((column) + (column) / 8)
#define PITCH (AT(SWATH_COLUMNS - 1) + 1)
#define SWATH (SWATH_ROWS * PITCH)
// The place of what is left out.
#define NOWHERE -1
// Pixels of a thread at the end.
#if WIDTH % 4 == 0
#define RUN 4
#define RUN_PIXELS float4
#elif WIDTH % 2 == 0
#define RUN 2
#define RUN_PIXELS float2
#else
#define RUN 1
#define RUN_PIXELS float
#endif

// Masks as the lanes read them, zeros around; says whether one of the weights is not finite.
__device__ __forceinline__ int hold_masks(const float* weights, float4* taps)
{
    float beyond = 0.0f;
    for (int at = threadIdx.x; at < MAPS * MAP_TAPS; at += THREADS) {
        int q = at % 8, channel = blockIdx.y * 4 + at / 8 % 4, quarter = at / 32 % QUARTERS;
        const float* from = weights + (at / MAP_TAPS * CHANNELS + channel) * TAPS + q;
        float four[4];
        UNROLL for (int v = 0; v < 4; v++) {
            int p = quarter * 4 + v, there = channel < CHANNELS && p < MASK_HEIGHT && q < MASK_WIDTH;
            four[v] = there ? from[p * MASK_WIDTH] : 0.0f;
            // Zero of what is finite, else NaN.
            beyond += four[v] - four[v];
        }
        taps[at] = make_float4(four[0], four[1], four[2], four[3]);
    }
    return beyond != 0.0f;
}

// A lane's winners: their gradients, and places in their windows, column by column.
typedef struct {
    float gradient[HELD];
    int place[HELD];
} Winners;

// The gradients of an image's row of windows r.
__device__ __forceinline__ Winners fetch(const float* dy, const winner_place* where, int n, int images,
                                         int r)
{
    Winners own;
    int lane = threadIdx.x % 32, of_group = lane % GROUP_MAPS, holder = lane / GROUP_MAPS;
    int map = threadIdx.x / 32 % GROUPS * GROUP_MAPS + of_group;
    UNROLL for (int k = 0; k < HELD; k++) {
        int c = holder * HELD + k;
        int64 number = (((int64)n * MAPS + map) * ROWS + r) * COLUMNS + c;
        own.gradient[k] = 0.0f, own.place[k] = NOWHERE;
        if (n >= images || holder >= HOLDERS || map >= MAPS || r >= ROWS || c >= COLUMNS) continue;
        spot won = SPOT(number, r * COLUMNS + c);
        own.gradient[k] = PLACED_GRADIENT(number, dy[number]);
        own.place[k] = won.column % WINDOW_WIDTH * WINDOW_HEIGHT + won.row % WINDOW_HEIGHT;
    }
    return own;
}

// Adds a winner to a lane's column: `to` is the sum of the first row that it met.
__device__ __forceinline__ void add(float* to, const float4* taps, float gradient)
{
    float tap[4 * QUARTERS];
    UNROLL for (int v = 0; v < QUARTERS; v++) {
        float4 four = taps[v * 32];
        tap[4 * v] = four.x, tap[4 * v + 1] = four.y, tap[4 * v + 2] = four.z, tap[4 * v + 3] = four.w;
    }
    UNROLL for (int p = 0; p < MASK_HEIGHT; p++) to[p] += gradient * tap[p];
}

// Adds a window's gradients with their argmax in a pair of its columns, `ahead` of the first of
// which is the lane's column.
__device__ __forceinline__ void add_step(float sum[SWATH_ROWS], const float4* taps, int ahead,
                                         float gradient, int place)
{
    UNROLL for (int j = 0; j < STEP; j++) {
        // The column of the mask that meets the lane's; behind the last one there are zeros.
        int q = (ahead - j) & 7, meets = q < MASK_WIDTH;
        UNROLL for (int i = 0; i < WINDOW_HEIGHT; i++) {
            unsigned there = __ballot_sync(~0u, place == j * WINDOW_HEIGHT + i);
            for (; there; there &= there - 1) {
                int from = __ffs(there) - 1;
                float of_all = __shfl_sync(~0u, gradient, from);
                add(sum + i, taps + from * MAP_TAPS + q, meets ? of_all : 0.0f);
            }
        }
    }
}

// A warp's row of windows, from the left to the right.
__device__ __forceinline__ void sweep(Winners own, const float4* taps, float* swath)
{
    int lane = threadIdx.x % 32, channel = lane / 8;
    float sum[SWATH_ROWS];
    UNROLL for (int i = 0; i < SWATH_ROWS; i++) sum[i] = 0.0f;
    ROLLED for (int c = 0; c < COLUMNS; c++) {
        int holder = c / HELD, mine = lane / GROUP_MAPS == holder;
        float gradient = own.gradient[0];
        int place = mine ? own.place[0] : NOWHERE;
        ROLLED for (int j = 0; j < WINDOW_WIDTH; j += STEP, place -= STEP * WINDOW_HEIGHT) {
            int first = c * WINDOW_WIDTH + j, ahead = (lane - first) & 7;
            add_step(sum, taps - holder * GROUP_MAPS * MAP_TAPS + channel * 8, ahead, gradient, place);
            float* to = swath + AT(first + ahead) * 4 + channel;
            UNROLL for (int i = 0; i < SWATH_ROWS; i++) {
                if (ahead < STEP) to[i * PITCH * 4] = sum[i];
                sum[i] = ahead < STEP ? 0.0f : sum[i];
            }
        }
        // The next window's come to the front.
        int last = own.place[0];
        UNROLL for (int k = 0; k + 1 < HELD; k++)
            own.gradient[k] = own.gradient[k + 1], own.place[k] = own.place[k + 1];
        own.gradient[HELD - 1] = gradient, own.place[HELD - 1] = last;
    }
    int ahead = (lane - COLUMNS * WINDOW_WIDTH) & 7;
    float* to = swath + AT(COLUMNS * WINDOW_WIDTH + ahead) * 4 + channel;
    UNROLL for (int i = 0; i < SWATH_ROWS; i++)
        if (ahead < 8 - STEP) to[i * PITCH * 4] = sum[i];
}

// Adds up the columns of all warps that met the pixels of a band.
__device__ __forceinline__ void join(const float4* swath, X_ARGUMENT float* dx, int n, int begin, int top)
{
    int rows = HEIGHT - begin < BAND_ROWS ? HEIGHT - begin : BAND_ROWS;
    for (int at = threadIdx.x * RUN; at < rows * WIDTH; at += THREADS * RUN) {
        int pixel = begin * WIDTH + at, i = pixel / WIDTH + PAD_Y, j = pixel % WIDTH + PAD_X;
        int64 element = ((int64)n * CHANNELS + blockIdx.y * 4) * HEIGHT * WIDTH + pixel;
        __align__(16) float all[4][RUN], slope[4][RUN];
        UNROLL for (int c = 0; c < 4; c++) {
            UNROLL for (int v = 0; v < RUN; v++) all[c][v] = 0.0f, slope[c][v] = 1.0f;
#if BEFORE
            if ((int)blockIdx.y * 4 + c < CHANNELS)
                *(RUN_PIXELS*)slope[c] = *(const RUN_PIXELS*)(x + element + c * HEIGHT * WIDTH);
            UNROLL for (int v = 0; v < RUN; v++) slope[c][v] = derivative(BEFORE, slope[c][v]);
#endif
        }
        for (int r = FIRST_ROW(i); ROW_MET(r, i); r++)
            UNROLL for (int g = 0; g < GROUPS; g++) {
                const float4* row =
                    swath + (((r - top) * GROUPS + g) * SWATH_ROWS + i - r * WINDOW_HEIGHT) * PITCH;
                UNROLL for (int v = 0; v < RUN; v++) {
                    if (j + v >= SWATH_COLUMNS) continue;
                    float4 four = row[AT(j + v)];
                    all[0][v] += four.x, all[1][v] += four.y;
                    all[2][v] += four.z, all[3][v] += four.w;
                }
            }
        UNROLL for (int c = 0; c < 4; c++) {
            if ((int)blockIdx.y * 4 + c >= CHANNELS) continue;
            UNROLL for (int v = 0; v < RUN; v++) all[c][v] *= slope[c][v];
            *(RUN_PIXELS*)(dx + element + c * HEIGHT * WIDTH) = *(const RUN_PIXELS*)all[c];
        }
    }
}

__global__ void RESIDENT_BOUNDS(THREADS, BLOCKS)
swept(const GLOBAL float* dy, WHERE_ARGUMENT X_ARGUMENT const GLOBAL float* weights,
      GLOBAL float* __restrict__ dx, int images)
{
    extern __shared__ __align__(16) float4 taps[];
    int warp = threadIdx.x / 32, row = warp / GROUPS;
    float4 *swaths = taps + MAPS * MAP_TAPS, *swath = swaths + warp * SWATH;
    GRIDDEPCONTROL_WAIT();
    int band = blockIdx.x, begin = band % BANDS * BAND_ROWS, top = FIRST_ROW(begin + PAD_Y);
    Winners own = fetch(dy, where, band / BANDS, images, top + row);
    int keep = __syncthreads_or(hold_masks(weights, taps));

    while (band < images * BANDS) {
        int n = band / BANDS, from = begin, first = top;
        if (!keep)
            UNROLL for (int k = 0; k < HELD; k++)
                if (own.gradient[k] == 0.0f) own.place[k] = NOWHERE;
        Winners now = own;
        band += gridDim.x, begin = band % BANDS * BAND_ROWS, top = FIRST_ROW(begin + PAD_Y);
        own = fetch(dy, where, band / BANDS, images, top + row);
        sweep(now, taps + warp % GROUPS * GROUP_MAPS * MAP_TAPS, (float*)swath);
        __syncthreads();
        join(swaths, X_GIVEN dx, n, from, first);
        __syncthreads();
    }
}
