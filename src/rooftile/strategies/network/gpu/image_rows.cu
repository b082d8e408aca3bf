// Rung 3 of a network's ladder, image_rows: a small convolution and the linear layer behind it, for
// one image.
//
// Of one image nothing takes long but the weights of the linear layer, which must come from memory
// once.  So each block has a few rows of them, and a thread asks for its share before anything else.
// While that is on its way, the block computes the whole convolution, as all others do at the same
// time: what it comes to stays in shared memory, and nobody waits for another block.  A thread sums
// four neighbours of some maps, so that a row of pixels is read once for its taps of all of these.
// What it removes: a launch and the wait for it, during which no weight was read.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights_1[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// bias_1[MAPS], weights_2[OUTPUTS][INPUTS], bias_2[OUTPUTS], out[images][OUTPUTS].
// Grid: x over blocks of ROWS outputs, y over images.
// Block: THREADS threads.

#include "common/fused.h"
#include "common/overlapping.h"

#define INPUTS (MAPS * OUT_HEIGHT * OUT_WIDTH)
#define PIECES (INPUTS / 4)
// Pieces of each row that a thread holds.
#define HELD ((PIECES + THREADS - 1) / THREADS)
// Four results beside each other, a quad, need so many pieces of a row of pixels.
#define SPAN ((MASK_WIDTH + 6) / 4)
#define QUADS (OUT_WIDTH / 4)
// The image with its ghost cells in shared memory, and zeros up to the end of the last piece.
#define TALL (OUT_HEIGHT + MASK_HEIGHT - 1)
#define PITCH (4 * (QUADS - 1 + SPAN))
#define TAPS (CHANNELS * MASK_HEIGHT * MASK_WIDTH)

// A number, and a piece of weights; the compiler leaves the loads where they stand.
__device__ __forceinline__ float number_of(const GLOBAL float* at)
{
#ifdef __OPENCL_VERSION__
    return *at;
#else
    float v;
    asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(v) : "l"(at));
    return v;
#endif
}

__device__ __forceinline__ float4 piece_of(const GLOBAL float* at)
{
#ifdef __OPENCL_VERSION__
    return *(const GLOBAL float4*)at;
#else
    float4 v;
    asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(at));
    return v;
#endif
}

// What a thread brings to shared memory: elements of the image with its ghost cells, and taps.
#define PIXELS_HELD ((CHANNELS * TALL * PITCH + THREADS - 1) / THREADS)
#define TAPS_HELD ((MAPS * TAPS + THREADS - 1) / THREADS)

// Asks for an element of the image with its ghost cells.
__device__ __forceinline__ float pixel_of(const GLOBAL float* image, int e)
{
    int i = e / PITCH % TALL - PAD_Y, j = e % PITCH - PAD_X;
    bool inside = i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH && e < CHANNELS * TALL * PITCH;
    return inside ? number_of(image + (e / PITCH / TALL * HEIGHT + i) * WIDTH + j) : 0.0f;
}

// Four results beside each other of TOGETHER maps, from column 4 * quad of a row on.
__device__ __forceinline__ void convolve(const SHARED float* tile, const SHARED float* taps,
                                         const SHARED float* bias, int map, int row, int quad,
                                         SHARED float* results)
{
    float sum[TOGETHER][4];
    UNROLL for (int m = 0; m < TOGETHER; m++)
        UNROLL for (int k = 0; k < 4; k++) sum[m][k] = 0.0f;
    ROLLED for (int line = 0; line < CHANNELS * MASK_HEIGHT; line++) {
        int above = (line / MASK_HEIGHT * TALL + row + line % MASK_HEIGHT) * PITCH;
        float pixel[4 * SPAN];
        UNROLL for (int p = 0; p < SPAN; p++) {
            float4 four = *(const SHARED float4*)(tile + above + 4 * (quad + p));
            pixel[4 * p] = four.x, pixel[4 * p + 1] = four.y;
            pixel[4 * p + 2] = four.z, pixel[4 * p + 3] = four.w;
        }
        UNROLL for (int v = 0; v < MASK_WIDTH; v++)
            UNROLL for (int m = 0; m < TOGETHER; m++) {
                float tap = taps[(line * MASK_WIDTH + v) * MAPS + map + m];
                UNROLL for (int k = 0; k < 4; k++) sum[m][k] += tap * pixel[v + k];
            }
    }
    UNROLL for (int m = 0; m < TOGETHER; m++) {
        float shift = bias[map + m];
        *(SHARED float4*)(results + ((map + m) * OUT_HEIGHT + row) * OUT_WIDTH + 4 * quad) =
            make_float4(activate(sum[m][0] + shift), activate(sum[m][1] + shift),
                        activate(sum[m][2] + shift), activate(sum[m][3] + shift));
    }
}

__global__ void RESIDENT_BOUNDS(THREADS, 1)
image_rows(const GLOBAL float* x, const GLOBAL float* weights_1, const GLOBAL float* bias_1,
           const GLOBAL float* weights_2, const GLOBAL float* bias_2, GLOBAL float* out, int images)
{
    // Of pieces, so that they begin on 16 bytes.
    __shared__ float4 tile_pieces[CHANNELS * TALL * PITCH / 4], between_pieces[PIECES];
    __shared__ float taps[MAPS * TAPS], bias[MAPS], partial[ROWS][THREADS];
    SHARED float *tile = (SHARED float*)tile_pieces, *between = (SHARED float*)between_pieces;
    int thread = threadIdx.x, first = blockIdx.x * ROWS;
    LET_NEXT_BEGIN();
    // The image comes first, which the convolution waits for, and all of it is asked for at once.
    const GLOBAL float* image = x + (size_t)blockIdx.y * (CHANNELS * HEIGHT * WIDTH);
    float pixel[PIXELS_HELD], tap[TAPS_HELD], shift = 0.0f, last = 0.0f;
    UNROLL for (int e = 0; e < PIXELS_HELD; e++) pixel[e] = pixel_of(image, thread + e * THREADS);
    UNROLL for (int e = 0; e < TAPS_HELD; e++)
        if (thread + e * THREADS < MAPS * TAPS) tap[e] = number_of(weights_1 + thread + e * THREADS);
    if (thread < MAPS) shift = number_of(bias_1 + thread);
    if (thread < ROWS && first + thread < OUTPUTS) last = number_of(bias_2 + first + thread);
    float4 held[ROWS][HELD], none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    UNROLL for (int r = 0; r < ROWS; r++)
        UNROLL for (int h = 0; h < HELD; h++) {
            int at = thread + h * THREADS, o = first + r < OUTPUTS ? first + r : OUTPUTS - 1;
            held[r][h] = at < PIECES ? piece_of(weights_2 + (size_t)o * INPUTS + 4 * at) : none;
        }
    UNROLL for (int e = 0; e < PIXELS_HELD; e++)
        if (thread + e * THREADS < CHANNELS * TALL * PITCH) tile[thread + e * THREADS] = pixel[e];
    UNROLL for (int e = 0; e < TAPS_HELD; e++) {
        int at = thread + e * THREADS;
        if (at < MAPS * TAPS) taps[at % TAPS * MAPS + at / TAPS] = tap[e];
    }
    if (thread < MAPS) bias[thread] = shift;
    __syncthreads();
    ROLLED for (int e = thread; e < MAPS / TOGETHER * OUT_HEIGHT * QUADS; e += THREADS)
        convolve(tile, taps, bias, e / (OUT_HEIGHT * QUADS) * TOGETHER, e / QUADS % OUT_HEIGHT,
                 e % QUADS, between);
    __syncthreads();

    float sum[ROWS];
    UNROLL for (int r = 0; r < ROWS; r++) sum[r] = 0.0f;
    UNROLL for (int h = 0; h < HELD; h++) {
        int at = thread + h * THREADS;
        float4 four = at < PIECES ? between_pieces[at] : none;
        UNROLL for (int r = 0; r < ROWS; r++)
            sum[r] += held[r][h].x * four.x + held[r][h].y * four.y + held[r][h].z * four.z +
                      held[r][h].w * four.w;
    }
    UNROLL for (int r = 0; r < ROWS; r++) partial[r][thread] = sum[r];
    ROLLED for (int reach = REACH; reach > 0; reach /= 2) {
        __syncthreads();
        if (thread < reach && thread + reach < THREADS)
            UNROLL for (int r = 0; r < ROWS; r++) partial[r][thread] += partial[r][thread + reach];
    }
    __syncthreads();
    if (thread < ROWS && first + thread < OUTPUTS)
        out[(size_t)blockIdx.y * OUTPUTS + first + thread] =
            activate(partial[thread][0] + last);
}
