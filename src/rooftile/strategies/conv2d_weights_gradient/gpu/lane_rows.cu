// lane_rows: the lanes of a warp are rows of the masks, in banks of their own.
//
// In `lane_taps` neighbouring lanes are neighbouring taps, whose rows meet in the same banks, and every
// lane fetches each gradient and its place from global memory.  Here a lane has a row of a channel's
// mask: rows lie so far apart in shared memory that all lanes read at once, tap after tap.  Gradients
// lie there too, with the place of the first pixel that they met; neither a jump nor a division is
// left.
// What it removes: bank conflicts, and all but shared memory's reads, one for each multiply-add.
//
// The bias is a sum that all lanes make alike.  A lane more, whose pixels were ones, would read a bank
// of another's.  Sums are made by block, then by `finish` over these, in a fixed order.
//
// x[images][CHANNELS][HEIGHT][WIDTH], dy and where: see common/places.h;
// partial[gridDim.x][MAPS][COLUMNS_ALL]: a map's weights, then its bias.
// Grid: x over images, which blocks share out; y over groups of GROUP_CHANNELS channels; z over SPLITS
// of the maps.  Block: WARPS warps, each with some of the split's maps.

#define FAMILY lane_rows
#include "common/pipelines/pdl.h"
#include "conv2d_weights_gradient/gpu/finish.h"

#ifdef __OPENCL_VERSION__
#define FLOAT_BITS(value) as_int(value)
#else
#define FLOAT_BITS(value) __float_as_int(value)
#endif

#define THREADS (32 * WARPS)
#define SPLIT_MAPS ((MAPS + SPLITS - 1) / SPLITS)
#define WARP_MAPS ((SPLIT_MAPS + WARPS - 1) / WARPS)
#define LANES (GROUP_CHANNELS * MASK_HEIGHT)

// Starts to copy some channels of an image into the tile; the elements around them stay zeros.
__device__ __forceinline__ void start_image(const GLOBAL float* image, SHARED float* tile, int first)
{
    int channels = CHANNELS - first < GROUP_CHANNELS ? CHANNELS - first : GROUP_CHANNELS;
    for (int at = threadIdx.x; at < channels * HEIGHT * WIDTH; at += THREADS) {
        int c = at / (HEIGHT * WIDTH), i = at / WIDTH % HEIGHT, j = at % WIDTH;
        COPY_ASYNC(float, tile + c * PLANE + (i + PAD_Y) * PITCH + j + PAD_X,
                   image + (int64)first * HEIGHT * WIDTH + at);
    }
}

// Gradients of an image's maps from `begin` on, as bits, each with the index in a plane of the
// first pixel that it meets.
__device__ __forceinline__ void hold_gradients(const GLOBAL float* dy,
                                               WHERE_ARGUMENT Y_ARGUMENT int64 n, int begin,
                                               SHARED int2* held)
{
    int maps = MAPS - begin < SPLIT_MAPS ? MAPS - begin : SPLIT_MAPS;
    for (int at = threadIdx.x; at < maps * GRADIENTS; at += THREADS) {
        int64 number = (n * MAPS + begin) * GRADIENTS + at;
        spot met = SPOT(number, at % GRADIENTS);
        int2 one;
        one.x = FLOAT_BITS(GRADIENT(number));
        one.y = met.row * STRIDE_Y * PITCH + met.column * STRIDE_X;
        held[at] = one;
    }
}

__global__ void LAUNCH_BOUNDS(THREADS)
lane_rows(const GLOBAL float* x, const GLOBAL float* dy,
          WHERE_ARGUMENT Y_ARGUMENT GLOBAL float* __restrict__ partial, int images)
{
    __shared__ float tile[GROUP_CHANNELS * PLANE];
    __shared__ int2 held[SPLIT_MAPS * GRADIENTS];
    GRIDDEPCONTROL_WAIT();
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.y * GROUP_CHANNELS;
    int begin = blockIdx.z * SPLIT_MAPS, maps = MAPS - begin < SPLIT_MAPS ? MAPS - begin : SPLIT_MAPS;
    // Lanes beyond the rows read what the first one reads.
    int channel = lane / MASK_HEIGHT, p = lane % MASK_HEIGHT, mine = lane < LANES;
    // The lane's row of an output at the plane's origin.
    const SHARED float* row = tile + (mine ? channel * PLANE + p * PITCH : 0);

    for (int at = threadIdx.x; at < GROUP_CHANNELS * PLANE; at += THREADS) tile[at] = 0.0f;
    float sum[WARP_MAPS][MASK_WIDTH], bias[WARP_MAPS];
    UNROLL for (int m = 0; m < WARP_MAPS; m++) {
        bias[m] = 0.0f;
        UNROLL for (int q = 0; q < MASK_WIDTH; q++) sum[m][q] = 0.0f;
    }

    for (int n = blockIdx.x; n < images; n += gridDim.x) {
        __syncthreads();
        start_image(x + (int64)n * CHANNELS * HEIGHT * WIDTH, tile, first);
        hold_gradients(dy, WHERE_GIVEN Y_GIVEN n, begin, held);
        COPIES_DONE();
        __syncthreads();
        UNROLL for (int m = 0; m < WARP_MAPS; m++) {
            const SHARED int2* own = held + (m * WARPS + warp) * GRADIENTS;
            int end = m * WARPS + warp < maps ? GRADIENTS : 0;
            UNROLL_BY(4) for (int e = 0; e < end; e++) {
                int2 one = own[e];
                const SHARED float* pixels = row + one.y;
                float gradient = __int_as_float(one.x);
                bias[m] += gradient;
                UNROLL for (int q = 0; q < MASK_WIDTH; q++) sum[m][q] += gradient * pixels[q];
            }
        }
    }

    UNROLL for (int m = 0; m < WARP_MAPS; m++)
        UNROLL for (int q = 0; q < MASK_WIDTH; q++) {
            int map = m * WARPS + warp, column = (first + channel) * TAPS + p * MASK_WIDTH + q;
            GLOBAL float* to = partial + ((int64)blockIdx.x * MAPS + begin + map) * COLUMNS_ALL;
            if (map < maps && mine && first + channel < CHANNELS) to[column] = sum[m][q];
            if (map < maps && lane == 0 && first == 0 && q == 0) to[CHANNELS * TAPS] = bias[m];
        }
}
