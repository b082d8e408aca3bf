// fft: the convolution as a product of Fourier transforms; precision `fast`.
//
// The cost of an output no longer grows with the mask's area.  Overlap-save: a tile of
// TILE x TILE inputs gives OUT_Y x OUT_X outputs; its spectrum, times the mask's
// conjugate one, summed over channels, is transformed back.  Transforms are radix 2 in
// shared memory: decimation in frequency there, in time back, so that the spectrum stays
// in bit-reversed order and nothing is ever permuted.  Of a real tile's columns only the
// frequencies 0 to TILE / 2 are kept: the others are their conjugates.  An
// infinity or NaN spreads over its tile: outputs that are not finite are computed from
// the definition.
//
// x[..][CHANNELS][HEIGHT][WIDTH], weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH], bias[MAPS],
// out[..][MAPS][ROWS][COLUMNS], masks[MAPS][CHANNELS][FREQUENCIES] complex,
// spectra[images][TILES][CHANNELS][FREQUENCIES] and products[images][TILES][MAPS]
// [FREQUENCIES] complex, sums[images][MAPS][PLANE_SIZE], waves: TILE / 2 cosines, then
// sines, of multiples of a full turn / TILE; `images` of a slice, the first `first`.

#define FAMILY fft
#include "common/wide.h"
#include "conv2d/gpu/finish.h"

#define HALF_TILE (TILE / 2)
#define KEPT (HALF_TILE + 1)
#define FREQUENCIES (TILE * KEPT)
// A column more than needed, so that a warp down a column meets every bank.
#define PITCH (TILE + 1)
#define OUT_Y (TILE - MASK_HEIGHT + 1)
#define OUT_X (TILE - MASK_WIDTH + 1)
#define TILES_Y ((CONV_ROWS + OUT_Y - 1) / OUT_Y)
#define TILES_X ((CONV_COLUMNS + OUT_X - 1) / OUT_X)
#define TILES (TILES_Y * TILES_X)

CONSTANT_ARRAY(float, waves, TILE)

// The column that holds the k-th kept frequencies: in bit-reversed order the lower half of
// the frequencies is in the even columns, and TILE / 2 in column 1.
#define KEPT_COLUMN(k) ((k) < HALF_TILE ? 2 * (k) : 1)

__device__ __forceinline__ int bit_reversed(int k)
{
    int reversed = 0;
    for (int bit = 1; bit < TILE; bit *= 2) {
        reversed = 2 * reversed + k % 2;
        k /= 2;
    }
    return reversed;
}

// Transforms the masks to their conjugate spectra, over TILE x TILE for the way back.  They are
// few, so every sum is made from its definition: along the rows of a mask, then along the columns.
// Grid: a block a mask.
__global__ void LAUNCH_BOUNDS(THREADS)
fft_transform_weights(const GLOBAL float* weights, GLOBAL float2* masks)
{
    __shared__ wide real[MASK_HEIGHT * KEPT], imaginary[MASK_HEIGHT * KEPT];
    __shared__ wide cosines[TILE], sines[TILE];
    const GLOBAL float* mask = weights + (size_t)blockIdx.x * MASK_SIZE;
    GLOBAL float2* spectrum = masks + (size_t)blockIdx.x * FREQUENCIES;
    for (int k = threadIdx.x; k < TILE; k += THREADS) {
        cosines[k] = cospi((wide)k / HALF_TILE);
        sines[k] = sinpi((wide)k / HALF_TILE);
    }
    __syncthreads();

    for (int e = threadIdx.x; e < MASK_HEIGHT * KEPT; e += THREADS) {
        int frequency = bit_reversed(KEPT_COLUMN(e % KEPT));
        wide x = 0, y = 0;
        for (int q = 0; q < MASK_WIDTH; q++) {
            wide tap = mask[e / KEPT * MASK_WIDTH + q];
            x += tap * cosines[frequency * q % TILE];
            y += tap * sines[frequency * q % TILE];
        }
        real[e] = x, imaginary[e] = y;
    }
    __syncthreads();

    // Two adjacent rows have frequencies half a turn apart: odd terms differ in sign.
    for (int e = threadIdx.x; e < FREQUENCIES / 2; e += THREADS) {
        int row = e / KEPT * 2, column = e % KEPT, frequency = bit_reversed(row);
        wide x[2] = {0, 0}, y[2] = {0, 0};
        UNROLL for (int p = 0; p < MASK_HEIGHT; p++) {
            int at = p * KEPT + column, turn = frequency * p % TILE;
            x[p % 2] += real[at] * cosines[turn] - imaginary[at] * sines[turn];
            y[p % 2] += real[at] * sines[turn] + imaginary[at] * cosines[turn];
        }
        UNROLL for (int odd = 0; odd < 2; odd++) {
            wide sign = odd ? -1 : 1, scale = (wide)1 / (TILE * TILE);
            spectrum[(row + odd) * KEPT + column] = make_float2(
                (float)((x[0] + sign * x[1]) * scale), (float)((y[0] + sign * y[1]) * scale));
        }
    }
}

// Butterfly e of a stage, on rows or on kept columns, that joins elements `reach` apart:
// the index of its first element, the distance of the second, and its wave.
#define BUTTERFLY(e, rows, reach)                                                        \
    int line = rows ? (e) / HALF_TILE : (e) % KEPT, k = rows ? (e) % HALF_TILE : (e) / KEPT; \
    int lower = 2 * k - k % (reach), wave = k % (reach) * (HALF_TILE / (reach));         \
    int a = rows ? line * PITCH + lower : lower * PITCH + KEPT_COLUMN(line);             \
    int b = a + (rows ? (reach) : (reach) * PITCH);                                      \
    float cosine = turns[wave], sine = turns[HALF_TILE + wave];

// All rows, or all kept columns, into frequencies.  Ends with a barrier.
__device__ __forceinline__ void transform(SHARED float* real, SHARED float* imaginary,
                                          const SHARED float* turns, int rows)
{
    for (int reach = HALF_TILE; reach > 0; reach /= 2) {
        for (int e = threadIdx.x; e < (rows ? TILE : KEPT) * HALF_TILE; e += THREADS) {
            BUTTERFLY(e, rows, reach)
            float x = real[a] - real[b], y = imaginary[a] - imaginary[b];
            real[a] += real[b];
            imaginary[a] += imaginary[b];
            real[b] = x * cosine + y * sine;
            imaginary[b] = y * cosine - x * sine;
        }
        __syncthreads();
    }
}

// Back from frequencies, TILE times the values.  Ends with a barrier.
__device__ __forceinline__ void transform_back(SHARED float* real, SHARED float* imaginary,
                                               const SHARED float* turns, int rows)
{
    for (int reach = 1; reach < TILE; reach *= 2) {
        for (int e = threadIdx.x; e < (rows ? TILE : KEPT) * HALF_TILE; e += THREADS) {
            BUTTERFLY(e, rows, reach)
            float x = real[b] * cosine - imaginary[b] * sine;
            float y = imaginary[b] * cosine + real[b] * sine;
            real[b] = real[a] - x;
            imaginary[b] = imaginary[a] - y;
            real[a] += x;
            imaginary[a] += y;
        }
        __syncthreads();
    }
}

// Grid: x over an image's tiles, y over channels, z over images; a block makes a spectrum.
__global__ void LAUNCH_BOUNDS(THREADS)
fft_transform_input(const GLOBAL float* x, GLOBAL float2* spectra, int first,
                    int images CONSTANT_ARGUMENT(float, waves))
{
    __shared__ float real[TILE * PITCH], imaginary[TILE * PITCH], turns[TILE];
    int tile = blockIdx.x;
    int top = tile / TILES_X * OUT_Y - PAD_Y, left = tile % TILES_X * OUT_X - PAD_X;
    for (int k = threadIdx.x; k < TILE; k += THREADS) turns[k] = waves[k];

    for (int n = blockIdx.z; n < images; n += gridDim.z)
        for (int c = blockIdx.y; c < CHANNELS; c += gridDim.y) {
            const GLOBAL float* channel =
                x + ((size_t)first + n) * IMAGE_SIZE + c * HEIGHT * WIDTH;
            for (int e = threadIdx.x; e < TILE * TILE; e += THREADS) {
                int at = e / TILE * PITCH + e % TILE;
                real[at] = met_pixel(channel, top + e / TILE, left + e % TILE);
                imaginary[at] = 0.0f;
            }
            __syncthreads();
            transform(real, imaginary, turns, 1);
            transform(real, imaginary, turns, 0);
            GLOBAL float2* spectrum =
                spectra + (((size_t)n * TILES + tile) * CHANNELS + c) * FREQUENCIES;
            for (int e = threadIdx.x; e < FREQUENCIES; e += THREADS) {
                int at = e / KEPT * PITCH + KEPT_COLUMN(e % KEPT);
                spectrum[e] = make_float2(real[at], imaginary[at]);
            }
            __syncthreads();
        }
}

// Grid: x over frequencies in blocks of THREADS, y over maps, z over the slice's tiles; a
// thread holds the sums of THREAD_MAPS x THREAD_TILES at one frequency.
__global__ void LAUNCH_BOUNDS(THREADS)
fft_multiply(const GLOBAL float2* masks, const GLOBAL float2* spectra, GLOBAL float2* products,
             int tiles)
{
    int frequency = blockIdx.x * THREADS + threadIdx.x, first_map = blockIdx.y * THREAD_MAPS;
    if (frequency >= FREQUENCIES) return;

    masks += frequency;
    for (int start = blockIdx.z * THREAD_TILES; start < tiles; start += gridDim.z * THREAD_TILES) {
        float2 sums[THREAD_MAPS][THREAD_TILES], mask[THREAD_MAPS];
        UNROLL for (int i = 0; i < THREAD_MAPS; i++)
            UNROLL for (int j = 0; j < THREAD_TILES; j++) sums[i][j] = make_float2(0.0f, 0.0f);
        for (int c = 0; c < CHANNELS; c++) {
            // Rows beyond the last repeat it: their sums are not stored.
            UNROLL for (int i = 0; i < THREAD_MAPS; i++) {
                int m = first_map + i < MAPS ? first_map + i : MAPS - 1;
                mask[i] = masks[((size_t)m * CHANNELS + c) * FREQUENCIES];
            }
            UNROLL for (int j = 0; j < THREAD_TILES; j++) {
                int tile = start + j < tiles ? start + j : tiles - 1;
                float2 input = spectra[((size_t)tile * CHANNELS + c) * FREQUENCIES + frequency];
                UNROLL for (int i = 0; i < THREAD_MAPS; i++) {
                    sums[i][j].x += mask[i].x * input.x - mask[i].y * input.y;
                    sums[i][j].y += mask[i].x * input.y + mask[i].y * input.x;
                }
            }
        }
        UNROLL for (int i = 0; i < THREAD_MAPS; i++)
            UNROLL for (int j = 0; j < THREAD_TILES; j++)
                if (first_map + i < MAPS && start + j < tiles)
                    products[((size_t)(start + j) * MAPS + first_map + i) * FREQUENCIES +
                             frequency] = sums[i][j];
    }
}

// Grid: x over an image's tiles, y over maps, z over images; a block makes a tile of sums.
__global__ void LAUNCH_BOUNDS(THREADS)
fft_transform_output(const GLOBAL float* x, const GLOBAL float* weights,
                     const GLOBAL float2* products, GLOBAL float* sums, int first,
                     int images CONSTANT_ARGUMENT(float, waves))
{
    __shared__ float real[TILE * PITCH], imaginary[TILE * PITCH], turns[TILE];
    int tile = blockIdx.x;
    int top = tile / TILES_X * OUT_Y, left = tile % TILES_X * OUT_X;
    for (int k = threadIdx.x; k < TILE; k += THREADS) turns[k] = waves[k];

    for (int n = blockIdx.z; n < images; n += gridDim.z)
        for (int m = blockIdx.y; m < MAPS; m += gridDim.y) {
            const GLOBAL float2* product =
                products + (((size_t)n * TILES + tile) * MAPS + m) * FREQUENCIES;
            for (int e = threadIdx.x; e < FREQUENCIES; e += THREADS) {
                int at = e / KEPT * PITCH + KEPT_COLUMN(e % KEPT);
                real[at] = product[e].x;
                imaginary[at] = product[e].y;
            }
            __syncthreads();
            transform_back(real, imaginary, turns, 0);
            // The other odd columns: frequency f is the conjugate of TILE - f.
            for (int e = threadIdx.x; e < TILE * (HALF_TILE - 1); e += THREADS) {
                int row = e / (HALF_TILE - 1), column = 2 * (e % (HALF_TILE - 1)) + 3;
                int twin = row * PITCH + bit_reversed(TILE - bit_reversed(column));
                real[row * PITCH + column] = real[twin];
                imaginary[row * PITCH + column] = -imaginary[twin];
            }
            __syncthreads();
            transform_back(real, imaginary, turns, 1);
            const GLOBAL float* image = x + ((size_t)first + n) * IMAGE_SIZE;
            const GLOBAL float* filter = weights + (size_t)m * FILTER_SIZE;
            GLOBAL float* plane = sums + ((size_t)n * MAPS + m) * PLANE_SIZE;
            for (int e = threadIdx.x; e < OUT_Y * OUT_X; e += THREADS) {
                int i = top + e / OUT_X, j = left + e % OUT_X;
                if (i >= CONV_ROWS || j >= CONV_COLUMNS) continue;
                float sum = real[e / OUT_X * PITCH + e % OUT_X];
                if (!isfinite(sum)) sum = direct_sum(image, filter, i - PAD_Y, j - PAD_X);
                plane[i * CONV_COLUMNS + j] = sum;
            }
            __syncthreads();
        }
}
