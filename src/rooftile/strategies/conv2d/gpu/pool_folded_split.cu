// Rung 27, pool_folded_split: float32 as two parts of float16, the pool folded on warpgroups.
//
// As rung 25 x = hi + lo, and three products make one; but parts of float16 hold as many bits as
// TF32's, and the cores multiply them at twice the rate.  What they lack is range: a band is scaled
// by a power of two that brings its largest number below 2^15, each map's weights likewise, and
// results are scaled back.  The low parts are kept 2^11 times as large, so that they do not
// underflow.  A number that is too small beside the largest for its low part to hold, infinities
// and NaN become NaN, and `repair` computes the results that they meet from their definition.
// A band is split once, in place: pairs of neighbours lie as their high and their low parts.
// Products of high parts are summed apart, SUMMED slabs at a time: cores truncate sums, and short
// sums keep that below float32's error.  Of the low ones even that is too little to matter.
// One group of maps has so few columns that an instruction takes both parts of the weights, and
// four products make one: low parts' too, since its sums may be short and their budget small.
// What it removes: the conversions of every patch in registers, and half of the cores' time.
//
// x[images][CHANNELS][HEIGHT][WIDTH]; weights[ALL_SLABS][2 rows][2 parts][MAP_GROUPS][2][8 columns]
// [8 deep] in float16, behind them the exponents[4 MAP_GROUPS] that scale results back and
// the given weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH]; bias[MAPS];
// out[images][MAPS][ROWS][COLUMNS].
// Block: WARPS warps, in warpgroups that have bands of their own; a warp takes strips of 8 windows
// (columns) x STEPS rows, and as many again half a band below, of all maps.

#define PATCH_SLABS ((MASK_HEIGHT + 2) / 2)
#define SLABS (CHANNELS * PATCH_SLABS)
#define ALL_SLABS ((SLABS + SUMMED - 1) / SUMMED * SUMMED)
#define SLAB_BYTES (1024 * MAP_GROUPS)
#define WEIGHT_BYTES (ALL_SLABS * SLAB_BYTES)
#define BAND_SIZE (CHANNELS * TILE_SIZE)

// 8x8 core matrices without a swizzle: beside each other in a slab's depth, then below.
#define MATRIX_DESCRIPTOR(address)                                                              \
    ((address) >> 4 | (unsigned long long)(SLAB_BYTES / 2 >> 4) << 16 | 128ull >> 4 << 32)
#define LOW(b) ((b) + (SLAB_BYTES / 4 >> 4))
// Sums beside each other: of high parts alone, or of high and of low parts of the weights.
#define SUMS (MAP_GROUPS == 1 ? 2 : GROUPS)

// Two rows of a patch for a lane's two windows, as an instruction takes them.
struct slab { pair hi[4], lo[4]; };

__device__ __forceinline__ float tap(const float* weights, int map, int c, int p, int q)
{
    return weights[WEIGHT_BYTES / 4 + 4 * MAP_GROUPS +
                   ((map * CHANNELS + c) * MASK_HEIGHT + p) * MASK_WIDTH + q];
}

// 2^exponent, for exponents of normal numbers.
__device__ __forceinline__ float power(int exponent)
{
    return __int_as_float((exponent + 127) << 23);
}

// In two steps: each factor is a normal number, and only the second product may round.
__device__ __forceinline__ void scale_back(float* value, int exponent)
{
    *value = *value * power(exponent / 2) * power(exponent - exponent / 2);
}

// The exponent that brings a band's largest finite number to LARGEST.
__device__ __forceinline__ int scale_of(const float* tile)
{
    __shared__ unsigned largest[WARPS];
    unsigned most = 0;
    for (int e = MEMBER; e < BAND_SIZE / 4; e += TEAM) {
        uint4 four = ((const uint4*)tile)[e];
        unsigned bits[4] = {four.x, four.y, four.z, four.w};
        UNROLL for (int v = 0; v < 4; v++) {
            unsigned magnitude = bits[v] & 0x7fffffff;
            if (magnitude < 0x7f800000) most = magnitude > most ? magnitude : most;
        }
    }
    most = __reduce_max_sync(~0u, most);
    if (threadIdx.x % 32 == 0) largest[threadIdx.x / 32] = most;
    meet();
    UNROLL for (int e = 0; e < 4; e++) {
        unsigned other = largest[threadIdx.x / 128 * 4 + e];
        most = other > most ? other : most;
    }
    // Smaller ones would want a scale beyond float32's range.
    int exponent = (int)(most >> 23) <= LARGEST ? LARGEST + 1 : most >> 23;
    return 127 + LARGEST - exponent;
}

__device__ __forceinline__ float high(float value)
{
    bool holds = fabsf(value) >= LEAST && fabsf(value) < INFINITY;
    return holds || value == 0.0f ? widened(NARROW(value)) : __int_as_float(0x7fffffff);
}

// Zeros in place of the rows that the image's last band lacks: of the band before, split.
__device__ __forceinline__ void clear_rest(float* tile, int band)
{
    int rows = HEIGHT - band % BANDS * BAND_STEP;
    if ((BANDS - 1) * BAND_STEP + TILE_ROWS <= HEIGHT || rows >= TILE_ROWS) return;
    const int size = CHANNELS * TILE_SIZE, first = (rows * WIDTH + PIECE - 1) / PIECE * PIECE;
    for (int e = MEMBER; e < size; e += TEAM)
        if (e % TILE_SIZE >= first) tile[e] = 0.0f;
}

// A band's pairs of numbers as their high and their low parts, where they lie.
__device__ __forceinline__ void split(float* tile, float scale)
{
    for (int e = MEMBER; e < BAND_SIZE / 4; e += TEAM) {
        float4 four = ((const float4*)tile)[e];
        float x = four.x * scale, y = four.y * scale, z = four.z * scale, w = four.w * scale;
        float a = high(x), b = high(y), c = high(z), d = high(w);
        pair first = pack((x - a) * LOW_SCALE, (y - b) * LOW_SCALE);
        pair second = pack((z - c) * LOW_SCALE, (w - d) * LOW_SCALE);
        ((uint4*)tile)[e] = make_uint4(pack(a, b), first, pack(c, d), second);
    }
}

__device__ __forceinline__ void load_slab(const float* patch, int s, struct slab* a)
{
    // What is beyond the last slab meets zeros.
    if (s >= SLABS) s = SLABS - 1;
    patch += s / PATCH_SLABS * TILE_SIZE + 2 * (s % PATCH_SLABS) * PITCH;
    UNROLL for (int e = 0; e < 4; e++) {
        uint2 two = *(const uint2*)(patch + (2 * HALF_STEPS * (e % 2) + e / 2) * PITCH);
        a->hi[e] = two.x, a->lo[e] = two.y;
    }
}

// Begins a slab's products.  It may still run; what it reads must stay until it is complete.
__device__ __forceinline__ void begin(const struct slab* a, unsigned long long b, bool first,
                                      float big[SUMS][2][4], float small[SUMS][2][4])
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    if (first)
        WGMMA_FIRST(big, a->hi, b);
    else
        WGMMA_NEXT(big, a->hi, b);
#if MAP_GROUPS > 1
    WGMMA_NEXT(small, a->hi, LOW(b));
#endif
    WGMMA_NEXT(small, a->lo, b);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Adds what a run of slabs has come to.
__device__ __forceinline__ void add_run(float big[SUMS][2][4], float total[SUMS][2][4])
{
    WGMMA_WAIT(big);
    UNROLL for (int e = 0; e < SUMS * 8; e++)
        total[e / 8][e / 4 % 2][e % 4] += big[e / 8][e / 4 % 2][e % 4];
}

// All products of a sum: high, low and, in one group, those of two low parts.
__device__ __forceinline__ float whole(const float total[SUMS][2][4], const float small[SUMS][2][4],
                                       int e)
{
    const float down = 1.0f / LOW_SCALE;
    float low = small[e / 8][e / 4 % 2][e % 4];
#if MAP_GROUPS == 1
    low = fmaf(small[1][e / 4 % 2][e % 4], down, low + total[1][e / 4 % 2][e % 4]);
#endif
    return fmaf(low, down, total[e / 8][e / 4 % 2][e % 4]);
}

// The product of a row of windows' patches with all folded masks, still scaled.  While a slab is
// multiplied, the next one's patches are read; in the end the first of a row at `next`.
__device__ __forceinline__ void multiply(const float* patch, const float* next,
                                         unsigned long long b, struct slab a[2],
                                         float sum[GROUPS][2][4])
{
    float total[SUMS][2][4], small[SUMS][2][4];
    UNROLL for (int e = 0; e < SUMS * 8; e++)
        total[e / 8][e / 4 % 2][e % 4] = small[e / 8][e / 4 % 2][e % 4] = 0.0f;
    _Pragma("unroll 1") for (int first = 0; first < ALL_SLABS; first += SUMMED) {
        float big[SUMS][2][4];
        UNROLL for (int turn = 0; turn < SUMMED; turn++) {
            int s = first + turn, last = turn + 1 == SUMMED && s + 1 == ALL_SLABS;
            begin(&a[turn % 2], b + s * (SLAB_BYTES >> 4), turn == 0, big, small);
            // The slab before is complete.
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            load_slab(last ? next : patch, last ? 0 : s + 1, &a[1 - turn % 2]);
        }
        add_run(big, total);
    }
    WGMMA_WAIT(small);
    UNROLL for (int e = 0; e < GROUPS * 8; e++)
        sum[e / 8][e / 4 % 2][e % 4] = whole(total, small, e);
}

// A warp's strip: its rows of windows downwards.  Results are 2^exponents times too small.
__device__ __forceinline__ void strip(const float* tile, unsigned long long b,
                                      const int exponents[GROUPS], const float shift[GROUPS],
                                      const float* image, const float* weights, float* results,
                                      int map, int window, int top, int start)
{
    const float* patch = tile + 2 * start * PITCH + 2 * window + 2 * (threadIdx.x % 4);
    float* place = results + map * MAP_PITCH + window / WINDOWS_RIGHT;
    struct slab a[2];
    load_slab(patch, 0, &a[0]);
    float most[GROUPS][2];
    bool doubtful = false;
    _Pragma("unroll 1") for (int step = 0; step < STEPS; step++) {
        float sum[GROUPS][2][4];
        const float* next = patch + (step + 1 < STEPS ? 2 * PITCH : 0);
        multiply(patch, next, b, a, sum);
        patch = next;
        UNROLL for (int e = 0; e < 2 * GROUPS; e++) {
            int h = e % 2, m = e / 2;
            // The largest is the largest at any scale.
            if (POOL_AVERAGE)
                UNROLL for (int v = 0; v < 4; v++)
                    scale_back(&sum[m][v / 2][2 * h + v % 2], exponents[m]);
            float four = of_four(sum[m], h, shift[m]);
            if (!POOL_AVERAGE) scale_back(&four, exponents[m]);
            most[m][h] = step % WINDOWS_DOWN ? POOL_STEP(most[m][h], four) : four;
            if ((step + 1) % WINDOWS_DOWN) continue;
            int row = h * HALF_ROWS + (start + step) / WINDOWS_DOWN;
            float y = completed(most[m][h], shift[m]);
            doubtful |= y != y;
            if (held(map + 4 * m, window, top + row))
                place[4 * m * MAP_PITCH + row * COLUMNS] = y;
        }
    }
    repair_strip(doubtful, image, weights, shift, results, map, window, top, start);
}

// A team's bands, through one buffer or, the next one's copies under way, through two.
__device__ __forceinline__ void bands(const float* x, const float* weights, float* out,
                                      int images, float* tiles, unsigned long long b,
                                      const int exponents[GROUPS], const float shift[GROUPS])
{
    const int apart = gridDim.x * (THREADS / TEAM), lane = threadIdx.x % 32;
    int band = threadIdx.x / TEAM * gridDim.x + blockIdx.x;
    if (FLAT && BUFFERS == 2 && band < images * BANDS) start_band(x, band, tiles);
    for (int turn = 0; band < images * BANDS; band += apart, turn ^= BUFFERS - 1) {
        float* tile = tiles + turn * BAND_SIZE;
        if (BUFFERS == 1) meet();
        if (!FLAT)
            fill(x, band, tile);
        else if (BUFFERS == 1)
            start_band(x, band, tile);
        COPIES_DONE();
        if (FLAT) clear_rest(tile, band);
        meet();
        if (FLAT && BUFFERS == 2 && band + apart < images * BANDS)
            start_band(x, band + apart, tiles + (turn ^ 1) * BAND_SIZE);
        int scale = scale_of(tile), back[GROUPS];
        split(tile, power(scale));
        meet();
        UNROLL for (int m = 0; m < GROUPS; m++) back[m] = exponents[m] - scale;
        const float* image = x + (size_t)(band / BANDS) * IMAGE_SIZE;
        int top = band % BANDS * BAND_ROWS;
        float* results = out + (size_t)(band / BANDS) * RESULT_SIZE + top * COLUMNS;
        // Spare warps repeat a task: four multiply together.
        for (int task = MEMBER / 32; task < TASKS; task += WORKERS)
            strip(tile, b, back, shift, image, weights, results, lane % 4,
                  task % STRIPS * 8 + lane / 4, top, task / STRIPS % SEGMENTS * STEPS);
    }
}

__global__ RESIDENT_BOUNDS(THREADS, LEAST_BLOCKS) void conv2d(
    const float* __restrict__ x, const float* __restrict__ weights,
    const float* __restrict__ bias, float* __restrict__ out, int images)
{
    extern __shared__ __align__(128) char shared[];
    float* tiles = (float*)(shared + WEIGHT_BYTES) + threadIdx.x / TEAM * BUFFERS * BAND_SIZE;
    // What no copy reaches meets zeros of the mask, and must be finite.
    for (int e = MEMBER; e < BUFFERS * BAND_SIZE; e += TEAM) tiles[e] = 0.0f;
    float shift[GROUPS];
    int exponents[GROUPS];
    UNROLL for (int m = 0; m < GROUPS; m++) {
        int map = 4 * m + threadIdx.x % 4;
        shift[m] = map < MAPS ? bias[map] : 0.0f;
        exponents[m] = (int)weights[WEIGHT_BYTES / 4 + map];
    }
    for (int e = threadIdx.x; e < WEIGHT_BYTES / 16; e += THREADS)
        ((uint4*)shared)[e] = ((const uint4*)weights)[e];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    unsigned long long b = MATRIX_DESCRIPTOR((unsigned)__cvta_generic_to_shared(shared));
    __syncthreads();
    bands(x, weights, out, images, tiles, b, exponents, shift);
}
