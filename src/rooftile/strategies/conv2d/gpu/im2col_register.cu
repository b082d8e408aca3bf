// Rung 12, im2col_register: implicit matrix multiply, tiled in registers and shared memory.
//
// Maps x pixels = (maps x taps) (taps x pixels), the second matrix read from the image as it
// is needed.  A thread keeps 8 x 8 results in registers, so that a value read from shared
// memory serves eight multiply-adds; while one tile of taps is multiplied, the next is on
// its way from memory.  Pixels are ordered window by window of the pool, so that a
// window's positions are neighbours in one thread's registers.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[taps rounded up to TILE_K][PADDED_MAPS] with tap
// (p * MASK_WIDTH + q) * CHANNELS + c, bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x over tiles of 128 pixels of all images, y over tiles of 128 maps.  Block: 256 threads,
// 16 x 16 over the tile, each with four and four more maps and pixels, 64 apart.

#define TILE 128
#define HALF 64
#define TAPS (MASK_SIZE * CHANNELS)
#define WINDOW (POOL_HEIGHT * POOL_WIDTH)
#define PIXELS (ROWS * COLUMNS * WINDOW)
#define LOADS (TILE_K / 2)

// The input behind one tap of one pixel whose window starts at (top, left).
__device__ __forceinline__ float tap_input(const GLOBAL float* image, int top, int left, int tap)
{
    int c = tap % CHANNELS, place = tap / CHANNELS;
    int i = top + place / MASK_WIDTH, j = left + place % MASK_WIDTH;
    bool inside = i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH && tap < TAPS;
    return inside ? image[(c * HEIGHT + i) * WIDTH + j] : 0.0f;
}

__global__ __launch_bounds__(256, 2) void conv2d(
    const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
    const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    __shared__ __attribute__((aligned(16))) float left_tile[2][TILE_K * TILE];
    __shared__ __attribute__((aligned(16))) float right_tile[2][TILE_K * TILE];
    int thread = threadIdx.x, tx = thread % 16, ty = thread / 16;

    // The pixel that this thread fetches, for every second tap of a tile.
    int64 pixel_fetched = (int64)blockIdx.x * TILE + thread % TILE;
    int first_tap = thread / TILE;
    int within = (int)(pixel_fetched % PIXELS);
    int position = within % WINDOW, window = within / WINDOW;
    int top = (window / COLUMNS * POOL_STRIDE_Y + position / POOL_WIDTH) * STRIDE_Y - PAD_Y;
    int left = (window % COLUMNS * POOL_STRIDE_X + position % POOL_WIDTH) * STRIDE_X - PAD_X;
    // Beyond the last image: a window that no tap of which lies inside.
    int64 n = pixel_fetched / PIXELS;
    if (n >= images) top = HEIGHT;
    const GLOBAL float* image = x + (size_t)(n < images ? n : 0) * IMAGE_SIZE;
    int columns = blockIdx.y * TILE + thread % 32 * 4;

    float sum[8][8], fetched[LOADS];
    float4 taken[TILE_K / 8];
    UNROLL for (int m = 0; m < 8; m++) UNROLL for (int n = 0; n < 8; n++) sum[m][n] = 0.0f;

#define FETCH(start)                                                                        \
    UNROLL for (int l = 0; l < TILE_K / 8; l++) taken[l] =                                  \
        *(const GLOBAL float4*)(weights + columns + ((start) + thread / 32 + 8 * l) * PADDED_MAPS); \
    FETCH_PIXEL(start)

#if CHANNELS % TILE_K == 0
// The taps of a tile differ in the channel alone: one place in the mask, looked up once.
#define FETCH_PIXEL(start)                                                                  \
    {                                                                                       \
        int place = (start) / CHANNELS, c = (start) % CHANNELS + first_tap;                 \
        int i = top + place / MASK_WIDTH, j = left + place % MASK_WIDTH;                    \
        bool inside = i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH;                          \
        int at = (c * HEIGHT + i) * WIDTH + j;                                              \
        UNROLL for (int l = 0; l < LOADS; l++) fetched[l] =                                 \
            inside ? image[at + 2 * l * HEIGHT * WIDTH] : 0.0f;                             \
    }
#else
#define FETCH_PIXEL(start)                                                                  \
    UNROLL for (int l = 0; l < LOADS; l++) fetched[l] =                                     \
        tap_input(image, top, left, (start) + first_tap + 2 * l);
#endif

#define KEEP(buffer)                                                                        \
    UNROLL for (int l = 0; l < TILE_K / 8; l++)                                             \
        *(SHARED float4*)(left_tile[buffer] + (thread / 32 + 8 * l) * TILE + thread % 32 * 4) = taken[l]; \
    UNROLL for (int l = 0; l < LOADS; l++)                                                  \
        right_tile[buffer][(first_tap + 2 * l) * TILE + thread % TILE] = fetched[l];

    FETCH(0)
    KEEP(0)
    __syncthreads();
    for (int start = 0, buffer = 0; start < TAPS; start += TILE_K, buffer ^= 1) {
        bool more = start + TILE_K < TAPS;
        if (more) { FETCH(start + TILE_K) }
        UNROLL for (int k = 0; k < TILE_K; k++) {
            const SHARED float* a = left_tile[buffer] + k * TILE + ty * 4;
            const SHARED float* b = right_tile[buffer] + k * TILE + tx * 4;
            float4 a0 = *(const SHARED float4*)a, a1 = *(const SHARED float4*)(a + HALF);
            float4 b0 = *(const SHARED float4*)b, b1 = *(const SHARED float4*)(b + HALF);
            float row[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
            float line[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
            UNROLL for (int m = 0; m < 8; m++)
                UNROLL for (int n = 0; n < 8; n++) sum[m][n] += row[m] * line[n];
        }
        if (more) { KEEP(buffer ^ 1) }
        __syncthreads();
    }

    UNROLL for (int part = 0; part < 2; part++)
        UNROLL for (int w = 0; w < 4 / WINDOW; w++) {
            int64 pixel_made = (int64)blockIdx.x * TILE + part * HALF + tx * 4 + w * WINDOW;
            if (pixel_made >= (int64)images * PIXELS) continue;
            int place = (int)(pixel_made % PIXELS) / WINDOW;
            GLOBAL float* plane = out + (size_t)(pixel_made / PIXELS) * RESULT_SIZE + place;
            UNROLL for (int m = 0; m < 8; m++) {
                int map = blockIdx.y * TILE + m / 4 * HALF + ty * 4 + m % 4;
                if (map >= MAPS) continue;
                float pooled = POOL_START;
                UNROLL for (int n = 0; n < WINDOW; n++) {
                    float z = sum[m][part * 4 + w * WINDOW + n] + bias[map];
                    pooled = POOL_STEP(pooled, activate(z));
                }
                plane[(size_t)map * ROWS * COLUMNS] = POOL_END(pooled);
            }
        }
}
