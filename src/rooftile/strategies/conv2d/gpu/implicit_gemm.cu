// Rungs 30 to 33, implicit_gemm: the convolution as a matrix product on Hopper's warpgroups.
//
// Rows of the product are a tile's pixels, columns are maps, and the sum runs over chunks of
// channels (128 bytes of a pixel) and the mask's taps.  A first kernel packs the image with its
// channels innermost, in the cores' type (CORES: 0 float16, 1 bfloat16, 2 TF32).  The bulk copy
// engine then brings a chunk's patch, the tile's pixels and the halo around them, to shared
// memory once: a tap is only another start address in it, since eight pixels beside each other
// are eight rows of 128 bytes whose swizzle follows from their addresses.  Ghost cells are what
// the engine fills in beyond the image.  A persistent grid: one warp fetches weights through a
// ring of stages, one fetches patches, two warpgroups multiply.  Bias, activation and pool
// happen in registers.
// What it removes: the traffic of the unrolled image, shared memory's included.
//
// With PARTS 2 numbers are split, x = hi + lo, and three products make one, summed apart for a
// row of taps at a time: cores truncate sums, and short sums keep that below float32's error.
// Whatever the split cannot hold becomes NaN; `repair` computes NaNs from their definition.
//
// x[images][CHANNELS][HEIGHT][WIDTH]; packed[PARTS x images][HEIGHT][WIDTH][PADDED_CHANNELS];
// weights[map tiles][CHUNKS][taps][TILE_MAPS][CHUNK], with PARTS 2 the weights as given behind
// them; stages[map tiles][CHUNKS][taps][PARTS][TILE_MAPS][CHUNK]; bias[MAPS];
// out[images][MAPS][ROWS][COLUMNS].

#define CHUNK (128 / ELEMENT_BYTES)
#define CHUNKS ((CHANNELS + CHUNK - 1) / CHUNK)
#define TILE_ROWS 16
#define HALVES (TILE_COLUMNS / 8)
#define TILES_DOWN ((CONV_ROWS + TILE_ROWS - 1) / TILE_ROWS)
#define TILES_RIGHT ((CONV_COLUMNS + TILE_COLUMNS - 1) / TILE_COLUMNS)
#define MAP_TILES ((MAPS + TILE_MAPS - 1) / TILE_MAPS)
#define PATCH_LOAD (PATCH_ROWS * PATCH_COLUMNS * 128)
#define STAGE_BYTES (PARTS * TILE_MAPS * 128)
#define STEPS (CHUNKS * MASK_SIZE)
#define PIECE (16 / ELEMENT_BYTES)

#if ELEMENT_BYTES == 2
typedef unsigned short element;
#else
typedef float element;
#endif

__device__ __forceinline__ element rounded(float value)
{
    element result;
#if CORES == 0
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(value));
#elif CORES == 1
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(value));
#else
    unsigned bits;
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    result = __uint_as_float(bits);
#endif
    return result;
}

// Whether the low half of a split is exact enough: neither infinite nor close to underflow.
__device__ __forceinline__ bool splits(float value)
{
    float size = fabsf(value);
    return value == 0.0f || (size >= LEAST_SPLIT && size < INFINITY);
}

// A number for the cores; `part` 1 is what the rounding to part 0 left.
__device__ __forceinline__ element converted(float value, int part)
{
#if PARTS == 2
    if (part) return rounded(value - rounded(value));
    if (!splits(value)) return __int_as_float(0x7fffffff);
#endif
    return rounded(value);
}

// Both parts of all weights.  Grid: a thread a weight.
__global__ __launch_bounds__(PACK_THREADS) void pack_weights(const float* __restrict__ weights,
                                                             element* __restrict__ stages,
                                                             int count)
{
    const int tap = TILE_MAPS * CHUNK;
    int i = blockIdx.x * PACK_THREADS + threadIdx.x;
    if (i >= count) return;
    UNROLL for (int part = 0; part < PARTS; part++)
        stages[(size_t)(i / tap * PARTS + part) * tap + i % tap] = converted(weights[i], part);
}

// The image with channels innermost.  Grid: x runs of PACK_PIXELS pixels, y chunks, z images.
__global__ __launch_bounds__(PACK_THREADS) void pack_image(const float* __restrict__ x,
                                                           element* __restrict__ packed,
                                                           int images)
{
    __shared__ float tile[CHUNK][PACK_PIXELS + 1];
    const int size = HEIGHT * WIDTH;
    int first = blockIdx.x * PACK_PIXELS, channel = blockIdx.y * CHUNK;
    for (int n = blockIdx.z; n < images; n += gridDim.z) {
        const float* image = x + (size_t)n * IMAGE_SIZE;
        int pixel = threadIdx.x % PACK_PIXELS;
        UNROLL for (int e = 0; e < CHUNK; e += PACK_THREADS / PACK_PIXELS) {
            int c = e + threadIdx.x / PACK_PIXELS;
            bool inside = first + pixel < size && channel + c < CHANNELS;
            tile[c][pixel] = inside ? image[(channel + c) * size + first + pixel] : 0.0f;
        }
        __syncthreads();
        int at = threadIdx.x % 8 * PIECE;
        UNROLL for (int e = 0; e < PACK_PIXELS; e += PACK_THREADS / 8) {
            int pixel = e + threadIdx.x / 8;
            if (first + pixel >= size || channel + at >= PADDED_CHANNELS) continue;
            UNROLL for (int part = 0; part < PARTS; part++) {
                __align__(16) element piece[PIECE];
                UNROLL for (int i = 0; i < PIECE; i++)
                    piece[i] = converted(tile[at + i][pixel], part);
                size_t place = ((size_t)part * images + n) * size + first + pixel;
                *(uint4*)(packed + place * PADDED_CHANNELS + channel + at) = *(uint4*)piece;
            }
        }
        __syncthreads();
    }
}

// Where things are in shared memory.
struct places { unsigned patches, stages, patch_barriers, stage_barriers; };

// One tile of the persistent grid.
struct tile { int image, row, column, map; };

__device__ __forceinline__ struct tile tile_of(int index)
{
    struct tile tile;
    tile.map = index % MAP_TILES * TILE_MAPS;
    int place = index / MAP_TILES;
    tile.column = place % TILES_RIGHT * TILE_COLUMNS;
    tile.row = place / TILES_RIGHT % TILES_DOWN * TILE_ROWS;
    tile.image = place / (TILES_RIGHT * TILES_DOWN);
    return tile;
}

// One thread's work: each chunk's patch, into the next buffer that is free.
__device__ __forceinline__ void fetch_patches(const tensor_map* map, struct places in, int images)
{
    struct turn turn = {0, 0};
    for (int index = blockIdx.x; index < images * TILES; index += gridDim.x) {
        struct tile tile = tile_of(index);
        _Pragma("unroll 1") for (int chunk = 0; chunk < CHUNKS; chunk++, advance(&turn, PATCHES)) {
            unsigned full = FULL(in.patch_barriers, turn.at);
            wait(EMPTY(in.patch_barriers, turn.at, PATCHES), turn.round ^ 1);
            expect_bytes(PARTS * PATCH_LOAD, full);
            UNROLL for (int part = 0; part < PARTS; part++)
                asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile"
                             ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::
                                 "r"(in.patches + (turn.at * PARTS + part) * PATCH_BYTES),
                             "l"(map), "r"(chunk * CHUNK), "r"(tile.column - PAD_X),
                             "r"(tile.row - PAD_Y), "r"(part * images + tile.image), "r"(full)
                             : "memory");
        }
    }
}

// Another thread's work: each tap's weights.
__device__ __forceinline__ void fetch_weights(const tensor_map* map, struct places in, int images)
{
    struct turn turn = {0, 0};
    for (int index = blockIdx.x; index < images * TILES; index += gridDim.x) {
        int row = index % MAP_TILES * STEPS * PARTS * TILE_MAPS;
        _Pragma("unroll 1") for (int step = 0; step < STEPS; step++, advance(&turn, STAGES)) {
            unsigned full = FULL(in.stage_barriers, turn.at);
            wait(EMPTY(in.stage_barriers, turn.at, STAGES), turn.round ^ 1);
            expect_bytes(STAGE_BYTES, full);
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                         ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                             in.stages + turn.at * STAGE_BYTES),
                         "l"(map), "r"(0), "r"(row + step * PARTS * TILE_MAPS), "r"(full)
                         : "memory");
        }
    }
}

// Adds one tap's products, or all three of a split, to the sums, or with !more starts them.
__device__ __forceinline__ void multiply(float sum[HALVES][TILE_MAPS / 2], unsigned pixels,
                                         unsigned maps, int more)
{
    UNROLL for (int product = PARTS == 2 ? 0 : 2; product < 3; product++) {
        // hi times lo, lo times hi, hi times hi
        word a = matrix(pixels + (product == 1) * PATCH_BYTES, PATCH_COLUMNS * 128);
        word b = matrix(maps + (product == 0) * TILE_MAPS * 128, 1024);
        UNROLL for (int k = 0; k < 4; k++)
            UNROLL for (int half = 0; half < HALVES; half++)
                WGMMA(sum[half], a + 2 * k + half * 64, b + 2 * k,
                      more || k > 0 || (PARTS == 2 && product > 0));
    }
}

// A warpgroup's tile: its sums over all chunks and taps.
__device__ __forceinline__ void accumulate(float total[HALVES][TILE_MAPS / 2], struct places in,
                                           struct turn* patch, struct turn* stage)
{
    unsigned first_row = 8 * (threadIdx.x / 128 - 1), weights = 0, inputs = 0;
    _Pragma("unroll 1") for (int chunk = 0; chunk < CHUNKS; chunk++, advance(patch, PATCHES)) {
        wait(FULL(in.patch_barriers, patch->at), patch->round);
        unsigned pixels =
            in.patches + patch->at * PARTS * PATCH_BYTES + first_row * PATCH_COLUMNS * 128;
        _Pragma("unroll 1") for (int p = 0; p < MASK_HEIGHT; p++) {
#if PARTS == 2
            float sum[HALVES][TILE_MAPS / 2];
#else
            float(*sum)[TILE_MAPS / 2] = total;
#endif
            _Pragma("unroll 1") for (int q = 0; q < MASK_WIDTH; q++, advance(stage, STAGES)) {
                wait(FULL(in.stage_barriers, stage->at), stage->round);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
                multiply(sum, pixels + (p * PATCH_COLUMNS + q) * 128,
                         in.stages + stage->at * STAGE_BYTES,
                         PARTS == 2 ? q > 0 : chunk + p + q > 0);
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                // The products before these are done with their weights, and maybe their patch.
                IN_FLIGHT(1);
                release(&weights);
                release(&inputs);
                weights = EMPTY(in.stage_barriers, stage->at, STAGES);
            }
#if PARTS == 2
            IN_FLIGHT(0);
            release(&weights);
            UNROLL for (int half = 0; half < HALVES; half++)
                UNROLL for (int e = 0; e < TILE_MAPS / 2; e++) total[half][e] += sum[half][e];
#endif
        }
        inputs = EMPTY(in.patch_barriers, patch->at, PATCHES);
        if (PATCHES == 1 || chunk + 1 == CHUNKS) {
            IN_FLIGHT(0);
            release(&weights);
            release(&inputs);
        }
    }
}

// One result of a thread; literally unconditional where tiles divide the sizes.
__device__ __forceinline__ void store(float* out, int map, int row, int column, float y)
{
    bool inside = (MAPS % TILE_MAPS == 0 || map < MAPS) &&
                  (ROWS * POOL_HEIGHT % TILE_ROWS == 0 || row < ROWS) &&
                  (COLUMNS * POOL_WIDTH % TILE_COLUMNS == 0 || column < COLUMNS);
    if (inside) out[(map * ROWS + row) * COLUMNS + column] = y;
}

// The pool over a thread's two rows and, two pixels a window, over the lanes beside it.
__device__ __forceinline__ float pooled(float above, float below, float shift)
{
    float first = POOL_AVERAGE ? activate(above + shift) : above;
    float y = POOL_STEP(POOL_AVERAGE ? 0.0f : -INFINITY, first);
    y = POOL_STEP(y, POOL_AVERAGE ? activate(below + shift) : below);
    y = POOL_STEP(y, __shfl_xor_sync(~0u, y, 4));
    return POOL_AVERAGE ? POOL_END(y) : activate(y + shift);
}

// Bias, activation, pool and store.  A thread holds, of every eight maps, two of two pixels
// above each other: rows 2 warp and 2 warp + 1 of its warpgroup's eight, column lane / 4.
__device__ __forceinline__ void finish(float sum[HALVES][TILE_MAPS / 2], struct tile tile,
                                       const float* bias, float* out)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4;
    int row = tile.row + 2 * warp, column = tile.column + lane / 4;
    out += (size_t)tile.image * RESULT_SIZE;
    UNROLL for (int e = 0; e < TILE_MAPS / 2; e += 4)
        UNROLL for (int m = 0; m < 2; m++) {
            int map = tile.map + 2 * e + 2 * (lane % 4) + m;
            float shift = MAPS % TILE_MAPS == 0 || map < MAPS ? __ldg(bias + map) : 0.0f;
            float y[HALVES];
            UNROLL for (int half = 0; half < HALVES; half++) {
                float above = sum[half][e + m], below = sum[half][e + 2 + m];
#if PARTS == 2
                // Infinity times zero: an overflow of the split is for `repair` to judge.
                above = fmaf(0.0f, above, above), below = fmaf(0.0f, below, below);
#endif
#if POOL_HEIGHT == 2
                y[half] = pooled(above, below, shift);
#else
                store(out, map, row, column + 8 * half, activate(above + shift));
                store(out, map, row + 1, column + 8 * half, activate(below + shift));
#endif
            }
#if POOL_HEIGHT == 2
            // Lanes of even columns hold what their neighbours do: those store the other half.
            bool odd = lane / 4 % 2;
            if (HALVES == 2 || !odd)
                store(out, map, row / 2, column / 2 + (odd ? 4 : 0), odd ? y[HALVES - 1] : y[0]);
#endif
        }
}

__global__ __launch_bounds__(384, 1) void conv2d(const __grid_constant__ tensor_map image,
                                                 const __grid_constant__ tensor_map stages,
                                                 const float* __restrict__ bias,
                                                 float* __restrict__ out, int images)
{
    extern __shared__ __align__(1024) char shared[];
    struct places in;
    in.patches = (unsigned)__cvta_generic_to_shared(shared);
    in.stages = in.patches + PATCHES * PARTS * PATCH_BYTES;
    in.patch_barriers = in.stages + STAGES * STAGE_BYTES;
    in.stage_barriers = in.patch_barriers + 16 * PATCHES;
    if (threadIdx.x == 0) {
        for (int e = 0; e < 2 * PATCHES; e++)
            expect(e < PATCHES ? 1 : 8, in.patch_barriers + 8 * e);
        for (int e = 0; e < 2 * STAGES; e++)
            expect(e < STAGES ? 1 : 8, in.stage_barriers + 8 * e);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) fetch_weights(&stages, in, images);
        if (threadIdx.x == 32) fetch_patches(&image, in, images);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        struct turn patch = {0, 0}, stage = {0, 0};
        for (int index = blockIdx.x; index < images * TILES; index += gridDim.x) {
            float sum[HALVES][TILE_MAPS / 2];
#if PARTS == 2
            UNROLL for (int e = 0; e < HALVES * TILE_MAPS / 2; e++)
                sum[e / (TILE_MAPS / 2)][e % (TILE_MAPS / 2)] = 0.0f;
#endif
            accumulate(sum, in, &patch, &stage);
            finish(sum, tile_of(index), bias, out);
        }
    }
}

#if PARTS == 2
// NaNs from their definition.
__global__ __launch_bounds__(256) void repair(const float* __restrict__ x,
                                              const float* __restrict__ weights,
                                              const float* __restrict__ bias,
                                              float* __restrict__ out, int images)
{
    for (size_t e = blockIdx.x * 256 + threadIdx.x; e < (size_t)images * RESULT_SIZE;
         e += gridDim.x * 256) {
        if (out[e] == out[e]) continue;
        int map = e / (ROWS * COLUMNS) % MAPS, row = e / COLUMNS % ROWS, column = e % COLUMNS;
        const float* image = x + e / RESULT_SIZE * IMAGE_SIZE;
        const float* filter = weights + WEIGHTS + map * CHANNELS * MASK_SIZE;
        float y = POOL_START;
        for (int a = 0; a < POOL_HEIGHT; a++)
            for (int b = 0; b < POOL_WIDTH; b++) {
                float sum = direct_sum(image, filter, row * POOL_HEIGHT + a - PAD_Y,
                                       column * POOL_WIDTH + b - PAD_X);
                y = POOL_STEP(y, activate(sum + bias[map]));
            }
        out[e] = POOL_END(y);
    }
}
#endif
