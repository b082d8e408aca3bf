// lane_taps: the lanes of a warp are the taps of the masks, an image in shared memory.
//
// In `block_tree` every weight's block reads all gradients of its map, and fetches each pixel from
// global memory.  Here a block has an image in shared memory, zeros around it, and a warp walks the
// gradients of a map, or of MAP_GROUP maps where all outputs have one: for each it multiplies the
// pixels that all taps met, one lane a tap.  Behind a max-pool these are the winners alone, one in
// four or in sixteen outputs.  What it removes: reads of gradients, once for each image instead of
// once for each weight, and reads of pixels from global memory.  The bias is one more tap, which
// meets a one.
//
// Sums are made by block and part, then by `finish` over these, in a fixed order.
//
// x[images][CHANNELS][HEIGHT][WIDTH], dy and where: see common/places.h,
// partial[gridDim.x * PARTS][MAPS][COLUMNS_ALL]: a map's weights, then its bias.
// Grid: x over images, which blocks share out; y over tiles of TILE_CHANNELS channels; z over
// SPLITS of the maps.  Block: x over WARPS warps.

#define FAMILY lane_taps
#include "common/pipelines/pdl.h"
#include "conv2d_weights_gradient/gpu/finish.h"

#define PITCH (WIDTH + 2 * PAD_X)
#define PLANE ((HEIGHT + 2 * PAD_Y) * PITCH)
#define TILE_TAPS (TILE_CHANNELS * TAPS)
#define ONE (TILE_CHANNELS * PLANE)
// Taps of a lane, the bias included.
#define LANE_TAPS (TILE_TAPS / 32 + 1)
#define MAP_GROUPS ((MAPS + MAP_GROUP - 1) / MAP_GROUP)
#define SPLIT_GROUPS ((MAP_GROUPS + SPLITS - 1) / SPLITS)
// Jobs of a block: a group of maps and a part of its gradients; and the number of each warp's.
#define JOBS (SPLIT_GROUPS * PARTS)
#define WARP_JOBS ((JOBS + WARPS - 1) / WARPS)
#define PART_SIZE ((GRADIENTS + PARTS - 1) / PARTS)

// Fills the tile with some channels of an image, and the elements around them with zeros.
__device__ __forceinline__ void stage(const GLOBAL float* image, SHARED float* tile, int channel)
{
    for (int at = threadIdx.x; at < TILE_CHANNELS * PLANE; at += 32 * WARPS) {
        int c = channel + at / PLANE, i = at % PLANE / PITCH - PAD_Y, j = at % PITCH - PAD_X;
        int inside = c < CHANNELS && i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH;
        tile[at] = inside ? image[(c * HEIGHT + i) * WIDTH + j] : 0.0f;
    }
}

__global__ void LAUNCH_BOUNDS(32 * WARPS)
lane_taps(const GLOBAL float* x, const GLOBAL float* dy,
          WHERE_ARGUMENT Y_ARGUMENT GLOBAL float* __restrict__ partial, int images)
{
    __shared__ float tile[TILE_CHANNELS * PLANE + 1];
    GRIDDEPCONTROL_WAIT();
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int channel = blockIdx.y * TILE_CHANNELS, split = blockIdx.z * SPLIT_GROUPS;
    // Offsets of a lane's taps from an output's first pixel; lanes beyond the taps meet the one.
    int offset[LANE_TAPS];
    UNROLL for (int k = 0; k < LANE_TAPS; k++) {
        int tap = lane + 32 * k, c = tap / TAPS;
        offset[k] = tap < TILE_TAPS
                        ? c * PLANE + tap % TAPS / MASK_WIDTH * PITCH + tap % TAPS % MASK_WIDTH
                        : ONE;
    }
    float sum[WARP_JOBS][MAP_GROUP][LANE_TAPS];
    UNROLL for (int s = 0; s < WARP_JOBS; s++)
        UNROLL for (int g = 0; g < MAP_GROUP; g++)
            UNROLL for (int k = 0; k < LANE_TAPS; k++) sum[s][g][k] = 0.0f;
    if (threadIdx.x == 0) tile[ONE] = 1.0f;

    for (int n = blockIdx.x; n < images; n += gridDim.x) {
        __syncthreads();
        stage(x + (size_t)n * CHANNELS * HEIGHT * WIDTH, tile, channel);
        __syncthreads();
        UNROLL for (int s = 0; s < WARP_JOBS; s++) {
            int job = warp + s * WARPS, group = split + job / PARTS, part = job % PARTS;
            int last = (part + 1) * PART_SIZE < GRADIENTS ? (part + 1) * PART_SIZE : GRADIENTS;
            // One test, not one within another: between barriers, PoCL 3.0 loses the outer one.
            int end = job < JOBS && group < MAP_GROUPS ? last : 0;
            UNROLL_BY(4) for (int e = part * PART_SIZE; e < end; e++) {
                int64 first = ((int64)n * MAPS + group * MAP_GROUP) * GRADIENTS + e;
                spot met = SPOT(first, e);
                int from = met.row * STRIDE_Y * PITCH + met.column * STRIDE_X;
                float pixel[LANE_TAPS];
                UNROLL for (int k = 0; k < LANE_TAPS; k++)
                    pixel[k] = tile[lane + 32 * k < TILE_TAPS ? from + offset[k] : ONE];
                UNROLL for (int g = 0; g < MAP_GROUP; g++) {
                    int there = group * MAP_GROUP + g < MAPS;
                    float gradient = there ? GRADIENT(first + g * GRADIENTS) : 0.0f;
                    UNROLL for (int k = 0; k < LANE_TAPS; k++) sum[s][g][k] += gradient * pixel[k];
                }
            }
        }
    }

    UNROLL for (int s = 0; s < WARP_JOBS; s++) {
        int job = warp + s * WARPS, group = split + job / PARTS;
        int64 row = (int64)blockIdx.x * PARTS + job % PARTS;
        UNROLL for (int g = 0; g < MAP_GROUP; g++)
            UNROLL for (int k = 0; k < LANE_TAPS; k++) {
                int map = group * MAP_GROUP + g, tap = lane + 32 * k;
                int column = tap == TILE_TAPS ? CHANNELS * TAPS : channel * TAPS + tap;
                int mine = tap == TILE_TAPS ? channel == 0
                                            : tap < TILE_TAPS && column < CHANNELS * TAPS;
                if (job < JOBS && group < MAP_GROUPS && map < MAPS && mine)
                    partial[(row * MAPS + map) * COLUMNS_ALL + column] = sum[s][g][k];
            }
    }
}
