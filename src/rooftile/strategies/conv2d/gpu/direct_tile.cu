// Rung 16, direct_tile: one thread owns whole pooling windows of several maps.
//
// The thread's patch of the image passes through registers row by row; each value
// meets every tap of every map that needs it, each tap every position of the
// windows, so a multiply-add costs a fraction of a load.  Bias, activation and pool
// happen in registers.  What it removes: repeated reads of shared memory.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[GROUPS][CHANNELS][MASK_HEIGHT][TAP_ROW], where a
// row holds MASK_WIDTH x THREAD_MAPS taps, bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x images x bands of BAND_ROWS result rows, y blocks of BLOCK_GROUPS groups of maps.
// Block: x threads over the band's windows, y groups of THREAD_MAPS maps.

#define PATCH_ROWS ((THREAD_ROWS * POOL_HEIGHT - 1) * STRIDE_Y + MASK_HEIGHT)
#define PATCH_STEP (THREAD_COLUMNS * POOL_WIDTH * STRIDE_X)
#define PATCH_COLUMNS ((THREAD_COLUMNS * POOL_WIDTH - 1) * STRIDE_X + MASK_WIDTH)
#define BAND_INPUT_ROWS ((BAND_ROWS * POOL_HEIGHT - 1) * STRIDE_Y + MASK_HEIGHT)
#define BANDS ((ROWS + BAND_ROWS - 1) / BAND_ROWS)
#define ACROSS ((COLUMNS + THREAD_COLUMNS - 1) / THREAD_COLUMNS)
#define THREADS (BLOCK_PIXELS * BLOCK_GROUPS)
#define GROUPS (PADDED_MAPS / THREAD_MAPS)
#define TAP_ROW ((MASK_WIDTH * THREAD_MAPS + 3) / 4 * 4)
#define GROUP_TAPS (MASK_HEIGHT * TAP_ROW)

#if TAPS_CONSTANT
CONSTANT_ARRAY(float, taps, GROUPS * CHANNELS * GROUP_TAPS)
#endif

// Image rows in pieces as wide as their alignment allows, where no ghost columns intervene.
#if PAD_X == 0 && WIDTH % 4 == 0
typedef float4 piece;
#define PIECE 4
#elif PAD_X == 0 && WIDTH % 2 == 0
typedef float2 piece;
#define PIECE 2
#else
#define PIECE 1
#endif
#define LOADED_COLUMNS (WIDTH < PITCH ? WIDTH : PITCH)

// The band's rows of one channel into shared memory, ghost cells as zeros.  What lies beyond
// the image's columns reaches sums that nobody stores.
__device__ __forceinline__ void load_rows(const GLOBAL float* channel, SHARED float* tile, int top,
                                          int thread)
{
#if PIECE == 1
    for (int e = thread; e < BAND_INPUT_ROWS * PITCH; e += THREADS) {
        int i = e / PITCH, j = e % PITCH;
        tile[e] = pixel(channel, top + i, j - PAD_X);
    }
#else
    for (int e = thread; e < BAND_INPUT_ROWS * (LOADED_COLUMNS / PIECE); e += THREADS) {
        int i = e / (LOADED_COLUMNS / PIECE), j = e % (LOADED_COLUMNS / PIECE) * PIECE;
        SHARED piece* to = (SHARED piece*)(tile + i * PITCH + j);
        if ((unsigned)(top + i) < HEIGHT)
            *to = *(const GLOBAL piece*)(channel + (top + i) * WIDTH + j);
        else
            for (int k = 0; k < PIECE; k++) tile[i * PITCH + j + k] = 0.0f;
    }
#endif
}

__global__ __launch_bounds__(THREADS, LEAST_BLOCKS) void conv2d(
    const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
    const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out
#if TAPS_CONSTANT
    CONSTANT_ARGUMENT(float, taps)
#endif
)
{
    __shared__ __attribute__((aligned(16))) float tile[TILE_CHANNELS * BAND_INPUT_ROWS * PITCH];
#if !TAPS_CONSTANT
    __shared__ __attribute__((aligned(16))) float taps[BLOCK_GROUPS * TILE_CHANNELS * GROUP_TAPS];
#endif
    int thread = threadIdx.y * BLOCK_PIXELS + threadIdx.x;
    int n = blockIdx.x / BANDS, band = blockIdx.x % BANDS;
    // A literal where there is one group: then taps in constant memory are operands.
    int group = GROUPS == 1 ? 0 : blockIdx.y * BLOCK_GROUPS + threadIdx.y;
    int down = threadIdx.x / ACROSS * THREAD_ROWS, across = threadIdx.x % ACROSS;
    const GLOBAL float* image = x + (size_t)n * IMAGE_SIZE;
    int top = band * BAND_ROWS * POOL_HEIGHT * STRIDE_Y - PAD_Y;

    float sum[THREAD_MAPS][THREAD_ROWS * POOL_HEIGHT][THREAD_COLUMNS * POOL_WIDTH];
    UNROLL for (int m = 0; m < THREAD_MAPS; m++)
        UNROLL for (int i = 0; i < THREAD_ROWS * POOL_HEIGHT; i++)
            UNROLL for (int j = 0; j < THREAD_COLUMNS * POOL_WIDTH; j++) sum[m][i][j] = 0.0f;

    for (int first = 0; first < CHANNELS; first += TILE_CHANNELS) {
        int channels = CHANNELS - first < TILE_CHANNELS ? CHANNELS - first : TILE_CHANNELS;
        __syncthreads();
        for (int c = 0; c < channels; c++)
            load_rows(image + (first + c) * HEIGHT * WIDTH, tile + c * BAND_INPUT_ROWS * PITCH, top,
                      thread);
#if !TAPS_CONSTANT
        for (int g = 0; g < BLOCK_GROUPS; g++)
            for (int e = thread; e < channels * GROUP_TAPS; e += THREADS)
                taps[g * TILE_CHANNELS * GROUP_TAPS + e] =
                    weights[((blockIdx.y * BLOCK_GROUPS + g) * CHANNELS + first) * GROUP_TAPS + e];
#endif
        __syncthreads();
        for (int c = 0; c < channels; c++) {
#if TAPS_CONSTANT
            int at = (group * CHANNELS + first + c) * GROUP_TAPS;
#else
            int at = (threadIdx.y * TILE_CHANNELS + c) * GROUP_TAPS;
#endif
            UNROLL for (int a = 0; a < PATCH_ROWS; a++) {
                float patch[PATCH_PADDED];
                const SHARED float* row =
                    tile + (c * BAND_INPUT_ROWS + down * POOL_HEIGHT * STRIDE_Y + a) * PITCH +
                    across * PATCH_STEP;
                UNROLL for (int v = 0; v < PATCH_PADDED; v += VECTOR) {
#if VECTOR == 4
                    float4 four = *(const SHARED float4*)(row + v);
                    patch[v] = four.x, patch[v + 1] = four.y;
                    patch[v + 2] = four.z, patch[v + 3] = four.w;
#elif VECTOR == 2
                    float2 two = *(const SHARED float2*)(row + v);
                    patch[v] = two.x, patch[v + 1] = two.y;
#else
                    patch[v] = row[v];
#endif
                }
                UNROLL for (int i = 0; i < THREAD_ROWS * POOL_HEIGHT; i++) {
                    int p = a - i * STRIDE_Y;
                    if (p < 0 || p >= MASK_HEIGHT) continue;
#if TAPS_CONSTANT
#define TAP(k) taps[at + p * TAP_ROW + (k)]
#else
#define TAP(k) tap_row[k]
                    float tap_row[TAP_ROW];
                    UNROLL for (int v = 0; v < TAP_ROW; v += 4) {
                        float4 four = *(const SHARED float4*)(taps + at + p * TAP_ROW + v);
                        tap_row[v] = four.x, tap_row[v + 1] = four.y;
                        tap_row[v + 2] = four.z, tap_row[v + 3] = four.w;
                    }
#endif
                    UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                        UNROLL for (int m = 0; m < THREAD_MAPS; m++) {
                            float tap = TAP(q * THREAD_MAPS + m);
                            UNROLL for (int j = 0; j < THREAD_COLUMNS * POOL_WIDTH; j++)
                                sum[m][i][j] += tap * patch[j * STRIDE_X + q];
                        }
                }
            }
        }
    }

    UNROLL for (int m = 0; m < THREAD_MAPS; m++) {
        int map = group * THREAD_MAPS + m;
        if (map >= MAPS) break;
        UNROLL for (int r = 0; r < THREAD_ROWS; r++) {
            int result_row = band * BAND_ROWS + down + r;
            if (result_row >= ROWS) break;
            UNROLL for (int w = 0; w < THREAD_COLUMNS; w++) {
                int column = across * THREAD_COLUMNS + w;
                if (column >= COLUMNS) break;
                float pooled = POOL_START;
                UNROLL for (int i = 0; i < POOL_HEIGHT; i++)
                    UNROLL for (int j = 0; j < POOL_WIDTH; j++) {
                        float z = sum[m][r * POOL_HEIGHT + i][w * POOL_WIDTH + j];
#if POOL_AVERAGE
                        z = activate(z + bias[map]);
#endif
                        pooled = POOL_STEP(pooled, z);
                    }
#if !POOL_AVERAGE
                // The activations rise, so the largest sum gives the largest result.
                pooled = activate(pooled + bias[map]);
#endif
                out[(((size_t)n * MAPS + map) * ROWS + result_row) * COLUMNS + column] =
                    POOL_END(pooled);
            }
        }
    }
}
