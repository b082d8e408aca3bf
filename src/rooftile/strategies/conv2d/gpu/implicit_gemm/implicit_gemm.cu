// Rungs 30 to 32, implicit_gemm: the convolution as a matrix product on Hopper's warpgroups.
//
// A first kernel packs the image with its channels innermost, in the cores' type.  The bulk copy
// engine then brings a chunk's patch, the tile's pixels and the halo around them, to shared
// memory once: a tap is only another start address in it, since eight pixels beside each other
// are eight rows of 128 bytes whose swizzle follows from their addresses.  Ghost cells are what
// the engine fills in beyond the image.  A persistent grid: one warp fetches weights through a
// ring of stages, one fetches patches, two warpgroups multiply.  Bias, activation and pool
// happen in registers.
// What it removes: the traffic of the unrolled image, shared memory's included.
//
// x[images][CHANNELS][HEIGHT][WIDTH]; bias[MAPS]; out[images][MAPS][ROWS][COLUMNS]; the others, and
// what a tile is, in `product.h`.

#include "common/cores.h"
#include "common/tf32.h"
#include "conv2d/gpu/implicit_gemm/product.h"

__device__ __forceinline__ element converted(float value, int number)
{
#if CORES == TF32
    return tf32(value);
#else
    element bits;
#if CORES == BFLOAT16
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#endif
    return bits;
#endif
}

// Converts the weights.  Grid: a thread a weight.
__global__ __launch_bounds__(PACK_THREADS) void pack_weights(const float* __restrict__ weights,
                                                             element* __restrict__ stages,
                                                             int count)
{
    int i = blockIdx.x * PACK_THREADS + threadIdx.x;
    if (i < count) pack_weight(weights[i], stages, i);
}

// Packs the image.  Grid: x runs of PACK_PIXELS pixels, y chunks, z images.
__global__ __launch_bounds__(PACK_THREADS) void pack_image(const float* __restrict__ x,
                                                           element* __restrict__ packed,
                                                           int images)
{
    for (int n = blockIdx.z; n < images; n += gridDim.z)
        pack_run(x + (size_t)n * IMAGE_SIZE, packed, 1.0f, n, images);
}

// Adds one step's products to the sums, or starts the sums where !more.
__device__ __forceinline__ void multiply(float sum[HALVES][TILE_MAPS / 2], unsigned pixels,
                                         unsigned maps, int more)
{
    word a = matrix(pixels, PATCH_COLUMNS * 128), b = matrix(maps, 1024);
    UNROLL for (int k = 0; k < 4; k++)
        UNROLL for (int half = 0; half < HALVES; half++)
            WGMMA(sum[half], a + 2 * k + half * 64, b + 2 * k, more || k > 0);
}

// A warpgroup sums up its tile over all chunks and taps.
__device__ __forceinline__ void accumulate(float sum[HALVES][TILE_MAPS / 2], struct places in,
                                           struct turn* patch, struct turn* stage)
{
    unsigned first_row = 8 * (threadIdx.x / 128 - 1), weights = 0, inputs = 0;
    ROLLED for (int chunk = 0; chunk < CHUNKS; chunk++, advance(patch, PATCHES)) {
        wait(FULL(in.patch_barriers, patch->at), patch->round);
        unsigned pixels = in.patches + patch->at * PATCH_BYTES + first_row * PATCH_COLUMNS * 128;
        ROLLED for (int p = 0; p < MASK_HEIGHT; p++)
            ROLLED for (int q = 0; q < MASK_WIDTH; q++, advance(stage, STAGES)) {
                wait(FULL(in.stage_barriers, stage->at), stage->round);
                begin_products();
                multiply(sum, pixels + (p * PATCH_COLUMNS + q) * 128,
                         in.stages + stage->at * STAGE_BYTES, chunk + p + q > 0);
                end_products();
                // The products before these are done with their weights, and maybe their patch.
                IN_FLIGHT(1);
                release(&weights);
                release(&inputs);
                weights = EMPTY(in.stage_barriers, stage->at, STAGES);
            }
        inputs = EMPTY(in.patch_barriers, patch->at, PATCHES);
        if (PATCHES == 1 || chunk + 1 == CHUNKS) {
            IN_FLIGHT(0);
            release(&weights);
            release(&inputs);
        }
    }
}

__global__ __launch_bounds__(384, 1) void conv2d(const __grid_constant__ tensor_map image,
                                                 const __grid_constant__ tensor_map stages,
                                                 const float* __restrict__ bias,
                                                 float* __restrict__ out, int images)
{
    extern __shared__ __align__(1024) char shared[];
    struct places in = set_up(shared);
    if (fetches(&image, &stages, in, images)) return;
    struct turn patch = {0, 0}, stage = {0, 0};
    for (int index = blockIdx.x; index < images * TILES; index += gridDim.x) {
        float sum[HALVES][TILE_MAPS / 2];
        accumulate(sum, in, &patch, &stage);
        finish(sum, tile_of(index), bias, out);
    }
}
