// implicit_gemm: the convolution as a matrix product on Hopper's warpgroups.
//
// A first kernel packs the image with its channels innermost, in the cores' type; an image in this
// layout is read in place, and float32 is rounded to TF32 by the copy. Launches overlap. The bulk
// copy engine then brings a chunk's patch, the tile's pixels and the halo around them, to shared
// memory once: a tap is only another start address in it, since eight adjacent pixels are eight
// rows of 128 bytes whose swizzle follows from their addresses. The engine fills ghost cells beyond
// the image. A persistent grid: one thread fetches weights through a ring of stages, one fetches
// patches, two warpgroups multiply. Where tiles are few, the blocks of a cluster share a tile's
// taps, and add their sums through each other's shared memory.
// What it removes: the traffic of the unrolled image, shared memory's included.
//
// x[images][CHANNELS][HEIGHT][WIDTH], or with X_LAST its channels last, in float or, with X_NARROW,
// in the cores' own type; bias[MAPS]; out: see `results.h`, in float or, with OUT_NARROW, in the
// cores' own type; the others, and the tile, in `product.h`.

#include "common/narrow.h"
#include "conv2d/gpu/implicit_gemm/product.h"
#include "conv2d/gpu/implicit_gemm/parts.h"
#include "conv2d/gpu/implicit_gemm/results.h"

__device__ __forceinline__ element converted(float value, int number)
{
#if CORES == TF32
    return tf32(value);
#else
    return NARROW(value);
#endif
}

// Converts the weights.  Grid: a thread a weight.
__global__ __launch_bounds__(PACK_THREADS) void implicit_gemm_pack_weights(
    const float* __restrict__ weights, element* __restrict__ stages, int count)
{
    int i = blockIdx.x * PACK_THREADS + threadIdx.x;
    if (i < count) pack_weight(weights[i], stages, i);
}

// Packs the image.  Grid: x runs of PACK_PIXELS pixels, y chunks, z images.
__global__ __launch_bounds__(PACK_THREADS) void implicit_gemm_pack_image(
    const given* x, element* __restrict__ packed, int images)
{
    GRIDDEPCONTROL_WAIT();
    GRIDDEPCONTROL_LAUNCH();
    for (int n = blockIdx.z; n < images; n += gridDim.z)
        pack_run(x + (size_t)n * IMAGE_SIZE, packed, 1.0f, n, images);
}

// Adds one step's products to the sums, or starts the sums where !more.
__device__ __forceinline__ void multiply(float sum[SUMS], unsigned maps, unsigned pixels, int more)
{
    word a = swizzled_descriptor(maps, 1024), b = swizzled_descriptor(pixels, PIXEL_PITCH);
    UNROLL for (int k = 0; k < DEPTHS; k++) WGMMA(sum, a + 2 * k, b + 2 * k, more || k > 0);
}

// A warpgroup sums up its share of a tile.
__device__ __forceinline__ void accumulate(float sum[SUMS], struct places in,
                                           struct reader* reader, struct tile tile)
{
    struct share share = share_of_block();
    unsigned pixels = 0;
    ROLLED for (int row = share.first; row < share.last; row++) {
        int p = row % MASK_HEIGHT;
        if (p == 0 || row == share.first) pixels = next_patch(in, reader, tile);
        ROLLED for (int q = 0; q < MASK_WIDTH; q++) {
            unsigned maps = next_stage(in, reader);
            wgmma_fence();
            multiply(sum, maps, pixels + (p * LINE + q) * 128, row > share.first || q > 0);
            wgmma_commit();
            leave_step(in, reader);
        }
        if (p + 1 == MASK_HEIGHT || row + 1 == share.last)
            leave_patch(in, reader, row + 1 == share.last);
    }
}

IN_CLUSTERS __global__ __launch_bounds__(384, 1) void implicit_gemm(
    const __grid_constant__ tensor_map image, const __grid_constant__ tensor_map stages,
    const float* bias, result* __restrict__ out, int images)
{
    extern __shared__ __align__(1024) char shared[];
    struct places in = init_pipeline(shared);
    GRIDDEPCONTROL_WAIT();
    GRIDDEPCONTROL_LAUNCH();
    if (fetches(&image, &stages, in, images)) return;
    struct reader reader = {{0, 0}, {0, 0}, 0, 0};
    for (int index = blockIdx.x / PARTS; index < images * TILES; index += gridDim.x / PARTS) {
        struct tile tile = tile_of(index);
        float sum[SUMS];
        accumulate(sum, in, &reader, tile);
        add_parts(sum, in);
        finish(sum, in, tile, bias, out);
    }
}
