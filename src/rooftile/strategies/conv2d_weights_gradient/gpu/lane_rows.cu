// Rung 5, lane_rows: the lanes of a warp are rows of the masks, in banks of their own.
//
// In `lane_taps` neighbouring lanes are neighbouring taps, whose rows meet in the same banks, and every
// lane fetches each gradient and its place from global memory.  Here a lane has a row of a channel's
// mask: rows lie so far apart in shared memory that all lanes read at once, tap after tap.  Gradients
// lie there too, with the place of the first pixel that they met; neither a jump nor a division is
// left.
// What it removes: bank conflicts, and all but shared memory's reads, one for each multiply-add.
//
// The bias is the sum of a lane more, whose pixels are ones.  Sums are made by block, then by
// `finish` over these, in a fixed order.
//
// x[images][CHANNELS][HEIGHT][WIDTH], dy and where: see common/places.h;
// partial[gridDim.x][MAPS][COLUMNS_ALL]: a map's weights, then its bias.
// Grid: x over images, which blocks share out; y over groups of GROUP_CHANNELS channels.
// Block: WARPS warps, each with some of the maps.

#include "common/overlapping.h"
#include "conv2d_weights_gradient/gpu/finish.h"

#ifdef __OPENCL_VERSION__
#define FLOAT_BITS(value) as_int(value)
#else
#define FLOAT_BITS(value) __float_as_int(value)
#endif

#define THREADS (32 * WARPS)
#define WARP_MAPS ((MAPS + WARPS - 1) / WARPS)
#define LANES (GROUP_CHANNELS * MASK_HEIGHT)

// Starts to copy some channels of an image into the tile; what lies around them stays zeros.
__device__ __forceinline__ void start_image(const GLOBAL float* image, SHARED float* tile, int first)
{
    int channels = CHANNELS - first < GROUP_CHANNELS ? CHANNELS - first : GROUP_CHANNELS;
    for (int at = threadIdx.x; at < channels * HEIGHT * WIDTH; at += THREADS) {
        int c = at / (HEIGHT * WIDTH), i = at / WIDTH % HEIGHT, j = at % WIDTH;
        COPY_ASYNC(float, tile + c * PLANE + (i + PAD_Y) * PITCH + j + PAD_X,
                   image + (int64)first * HEIGHT * WIDTH + at);
    }
}

// An image's gradients, as bits, each with where in a plane the first pixel lies that it met.
__device__ __forceinline__ void hold_gradients(const GLOBAL float* dy,
                                               WHERE_ARGUMENT Y_ARGUMENT int64 n, SHARED int2* held)
{
    for (int at = threadIdx.x; at < MAPS * GRADIENTS; at += THREADS) {
        int64 number = n * MAPS * GRADIENTS + at;
        int place = PLACE(number, at % GRADIENTS);
        int2 one;
        one.x = FLOAT_BITS(GRADIENT(number));
        one.y = place / PLACE_COLUMNS * STRIDE_Y * PITCH + place % PLACE_COLUMNS * STRIDE_X;
        held[at] = one;
    }
}

__global__ void LAUNCH_BOUNDS(THREADS)
weights_partial(const GLOBAL float* x, const GLOBAL float* dy,
                WHERE_ARGUMENT Y_ARGUMENT GLOBAL float* __restrict__ partial, int images)
{
    // Behind the planes a row of ones.
    __shared__ float tile[GROUP_CHANNELS * PLANE + MASK_WIDTH];
    __shared__ int2 held[MAPS * GRADIENTS];
    AWAIT_EARLIER();
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.y * GROUP_CHANNELS;
    int channel = lane / MASK_HEIGHT, p = lane % MASK_HEIGHT, of_bias = lane >= LANES;
    // The lane's row of an output at the plane's origin; that of ones does not move.
    const SHARED float* row = tile + (of_bias ? GROUP_CHANNELS * PLANE : channel * PLANE + p * PITCH);
    int moves = of_bias ? 0 : 1;

    for (int at = threadIdx.x; at < GROUP_CHANNELS * PLANE + MASK_WIDTH; at += THREADS)
        tile[at] = at < GROUP_CHANNELS * PLANE ? 0.0f : 1.0f;
    float sum[WARP_MAPS][MASK_WIDTH];
    UNROLL for (int m = 0; m < WARP_MAPS; m++)
        UNROLL for (int q = 0; q < MASK_WIDTH; q++) sum[m][q] = 0.0f;

    for (int n = blockIdx.x; n < images; n += gridDim.x) {
        __syncthreads();
        start_image(x + (int64)n * CHANNELS * HEIGHT * WIDTH, tile, first);
        hold_gradients(dy, WHERE_GIVEN Y_GIVEN n, held);
        COPIES_DONE();
        __syncthreads();
        UNROLL for (int m = 0; m < WARP_MAPS; m++) {
            const SHARED int2* own = held + (m * WARPS + warp) * GRADIENTS;
            int end = m * WARPS + warp < MAPS ? GRADIENTS : 0;
            UNROLL_BY(4) for (int e = 0; e < end; e++) {
                int2 one = own[e];
                const SHARED float* pixels = row + one.y * moves;
                float gradient = __int_as_float(one.x);
                UNROLL for (int q = 0; q < MASK_WIDTH; q++) sum[m][q] += gradient * pixels[q];
            }
        }
    }

    UNROLL for (int m = 0; m < WARP_MAPS; m++)
        UNROLL for (int q = 0; q < MASK_WIDTH; q++) {
            int map = m * WARPS + warp, column = (first + channel) * TAPS + p * MASK_WIDTH + q;
            int mine = !of_bias && first + channel < CHANNELS;
            GLOBAL float* to = partial + ((int64)blockIdx.x * MAPS + map) * COLUMNS_ALL;
            if (map < MAPS && mine) to[column] = sum[m][q];
            if (map < MAPS && lane == LANES && first == 0 && q == 0) to[CHANNELS * TAPS] = sum[m][0];
        }
}
