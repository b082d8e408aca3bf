// lane_columns: the lanes of a warp are columns of outputs, a lane keeps whole masks' sums.
//
// In `lane_taps` each gradient is fetched by every lane, and each multiply-add reads a pixel from
// shared memory.  Here a lane walks down a column of outputs, with the pixels that its mask covers in
// registers: a row further down, one row of pixels is new, and each gradient is multiplied by all of
// them.  Neighbouring lanes fetch neighbouring gradients.
// What it removes: fetching a gradient more than once, and all but one row of a mask's reads of
// pixels for GROUP_MAPS masks of products.
//
// Sums are made by lane, then by warp, then by `finish` over these, in a fixed order.
//
// x[images][CHANNELS][HEIGHT][WIDTH]; dy[images][MAPS][ROWS][COLUMNS], in float or, with DY_NARROW, in
// the cores' own type; y: see gradient.h;
// partial[gridDim.x * PARTS][MAPS][COLUMNS_ALL]: a map's weights, then its bias.
// Grid: x over images, which blocks share out; y over channels; z over groups of maps.
// Block: WARPS warps, each with a group of GROUP_MAPS maps and a part of the rows.

#define FAMILY lane_columns
#include "common/gradient_number.h"
#include "common/pipelines/pdl.h"
#include "conv2d_weights_gradient/gpu/finish.h"

#define THREADS (32 * WARPS)
#define PLANE ((HEIGHT + 2 * PAD_Y) * PITCH)
// A mask's taps and its bias; lanes' sums of them lie in banks of their own.
#define SUMS (TAPS + 1)
#define SUMS_PITCH (SUMS | 1)
#define PART_ROWS ((ROWS + PARTS - 1) / PARTS)

// Starts to copy a channel into the tile; the elements around it stay zeros.
__device__ __forceinline__ void start_channel(const GLOBAL float* from, SHARED float* tile)
{
    for (int at = threadIdx.x; at < HEIGHT * WIDTH; at += THREADS)
        COPY_ASYNC(float, tile + (at / WIDTH + PAD_Y) * PITCH + at % WIDTH + PAD_X, from + at);
}

// Fetches the gradients of MASK_HEIGHT outputs below each other of some maps, from element `first` of
// dy on, and the values behind their activation; zeros from row `end` on.  (They are left as they lie:
// to widen them would be to wait for them.)
__device__ __forceinline__ void fetch(const GLOBAL gradient_number* dy, Y_ARGUMENT int64 first, int row,
                                      int end, int maps,
                                      gradient_number gradient[MASK_HEIGHT][GROUP_MAPS],
                                      value_number value[MASK_HEIGHT][GROUP_MAPS])
{
    UNROLL for (int r = 0; r < MASK_HEIGHT; r++)
        UNROLL for (int m = 0; m < GROUP_MAPS; m++) {
            int64 number = first + m * GRADIENTS + (row + r) * COLUMNS;
            int there = row + r < end && m < maps;
            gradient[r][m] = there ? dy[number] : (gradient_number)0;
            value[r][m] = there ? GIVEN_VALUE(number) : (value_number)0;
        }
}

// Adds what the outputs of a column from row `begin` to `end` bring, to the sums of some maps.
__device__ __forceinline__ void walk(const GLOBAL gradient_number* dy, Y_ARGUMENT int64 first, int maps,
                                     const SHARED float* column, int begin, int end,
                                     float sum[GROUP_MAPS][SUMS])
{
    float window[MASK_HEIGHT][MASK_WIDTH];
    gradient_number next[MASK_HEIGHT][GROUP_MAPS];
    value_number value[MASK_HEIGHT][GROUP_MAPS];
    fetch(dy, Y_GIVEN first, begin, end, maps, next, value);
    UNROLL for (int p = 0; p < MASK_HEIGHT - 1; p++)
        UNROLL for (int q = 0; q < MASK_WIDTH; q++)
            window[p][q] = column[(begin + p) * PITCH + q];
    // The window's rows take turns, so that none has to move; further gradients are on their way
    // while these are multiplied.
    for (int i = begin; i < end; i += MASK_HEIGHT) {
        float gradient[MASK_HEIGHT][GROUP_MAPS];
        UNROLL for (int r = 0; r < MASK_HEIGHT; r++)
            UNROLL for (int m = 0; m < GROUP_MAPS; m++)
                gradient[r][m] =
                    BEFORE_ACTIVATION(WIDE_GRADIENT(next[r][m]), WIDE_VALUE(value[r][m]));
        fetch(dy, Y_GIVEN first, i + MASK_HEIGHT, end, maps, next, value);
        UNROLL for (int r = 0; r < MASK_HEIGHT; r++)
            if (i + r < end) {
                UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                    window[(r + MASK_HEIGHT - 1) % MASK_HEIGHT][q] =
                        column[(i + r + MASK_HEIGHT - 1) * PITCH + q];
                UNROLL for (int m = 0; m < GROUP_MAPS; m++) {
                    UNROLL for (int p = 0; p < MASK_HEIGHT; p++)
                        UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                            sum[m][p * MASK_WIDTH + q] +=
                                gradient[r][m] * window[(r + p) % MASK_HEIGHT][q];
                    sum[m][TAPS] += gradient[r][m];
                }
            }
    }
}

__global__ void LAUNCH_BOUNDS(THREADS)
lane_columns(const GLOBAL float* x, const GLOBAL gradient_number* dy,
             Y_ARGUMENT GLOBAL float* __restrict__ partial, int images)
{
    __shared__ float tile[PLANE];
    __shared__ float joined[WARPS * 32 * SUMS_PITCH];
    GRIDDEPCONTROL_WAIT();
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, channel = blockIdx.y;
    int job = blockIdx.z * WARPS + warp, first = job / PARTS * GROUP_MAPS, part = job % PARTS;
    int maps = MAPS - first < GROUP_MAPS ? MAPS - first : GROUP_MAPS;
    int begin = part * PART_ROWS, end = begin + PART_ROWS < ROWS ? begin + PART_ROWS : ROWS;
    int columns = begin < end && maps > 0 ? COLUMNS : 0;
    float sum[GROUP_MAPS][SUMS];
    UNROLL for (int m = 0; m < GROUP_MAPS; m++)
        UNROLL for (int k = 0; k < SUMS; k++) sum[m][k] = 0.0f;
    for (int at = threadIdx.x; at < PLANE; at += THREADS) tile[at] = 0.0f;

    for (int n = blockIdx.x; n < images; n += gridDim.x) {
        __syncthreads();
        start_channel(x + ((int64)n * CHANNELS + channel) * HEIGHT * WIDTH, tile);
        COPIES_DONE();
        __syncthreads();
        for (int j = lane; j < columns; j += 32) {
            int64 number = ((int64)n * MAPS + first) * GRADIENTS + j;
            walk(dy, Y_GIVEN number, maps, tile + j, begin, end, sum);
        }
    }

    SHARED float* mine = joined + warp * 32 * SUMS_PITCH;
    UNROLL for (int m = 0; m < GROUP_MAPS; m++) {
        __syncthreads();
        UNROLL for (int k = 0; k < SUMS; k++) mine[lane * SUMS_PITCH + k] = sum[m][k];
        __syncthreads();
        int64 row = ((int64)blockIdx.x * PARTS + part) * MAPS + first + m;
        for (int k = lane; k < SUMS && m < maps; k += 32) {
            float all = 0.0f;
            UNROLL_BY(8) for (int of = 0; of < 32; of++) all += mine[of * SUMS_PITCH + k];
            int column = k < TAPS ? channel * TAPS + k : CHANNELS * TAPS;
            if (k < TAPS || channel == 0) partial[row * COLUMNS_ALL + column] = all;
        }
    }
}
