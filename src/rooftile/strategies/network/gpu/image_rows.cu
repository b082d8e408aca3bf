// Rung 3 of a network's ladder, image_rows: a small convolution and the linear layer behind it, for
// one image.
//
// Of one image nothing takes long but the weights of the linear layer, which must come from memory
// once.  So each block has a few rows of them, and a thread asks for its share before anything else.
// While that is on its way, the block computes the whole convolution, as all others do at the same
// time: what it comes to stays in shared memory, and nobody waits for another block.  A thread sums
// four neighbours of all maps, so that a row of pixels is read once for its taps of every map.
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
// Four results beside each other need so many pieces of a row of pixels.
#define SPAN ((MASK_WIDTH + 6) / 4)
#define STRIPS (OUT_WIDTH / 4)
// The image with its ghost cells in shared memory, and zeros up to the end of the last piece.
#define TALL (OUT_HEIGHT + MASK_HEIGHT - 1)
#define PITCH (4 * (STRIPS - 1 + SPAN))
#define TAPS (CHANNELS * MASK_HEIGHT * MASK_WIDTH)

// A piece of weights; the compiler leaves the load where it stands.
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

// Brings an image with its ghost cells, and the taps of all maps beside each other.
__device__ __forceinline__ void load(const GLOBAL float* image, const GLOBAL float* weights,
                                     SHARED float* tile, SHARED float* taps)
{
    ROLLED for (int e = threadIdx.x; e < CHANNELS * TALL * PITCH; e += THREADS) {
        int i = e / PITCH % TALL - PAD_Y, j = e % PITCH - PAD_X;
        bool inside = i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH;
        tile[e] = inside ? image[(e / PITCH / TALL * HEIGHT + i) * WIDTH + j] : 0.0f;
    }
    ROLLED for (int e = threadIdx.x; e < MAPS * TAPS; e += THREADS)
        taps[e % TAPS * MAPS + e / TAPS] = weights[e];
}

// Four results beside each other of every map, from column 4 * strip of a row on.
__device__ __forceinline__ void convolve(const SHARED float* tile, const SHARED float* taps,
                                         const GLOBAL float* bias, int row, int strip,
                                         SHARED float* results)
{
    float sum[MAPS][4];
    UNROLL for (int m = 0; m < MAPS; m++)
        UNROLL for (int k = 0; k < 4; k++) sum[m][k] = 0.0f;
    ROLLED for (int line = 0; line < CHANNELS * MASK_HEIGHT; line++) {
        int above = (line / MASK_HEIGHT * TALL + row + line % MASK_HEIGHT) * PITCH;
        float pixel[4 * SPAN];
        UNROLL for (int p = 0; p < SPAN; p++) {
            float4 four = *(const SHARED float4*)(tile + above + 4 * (strip + p));
            pixel[4 * p] = four.x, pixel[4 * p + 1] = four.y;
            pixel[4 * p + 2] = four.z, pixel[4 * p + 3] = four.w;
        }
        UNROLL for (int v = 0; v < MASK_WIDTH; v++)
            UNROLL for (int m = 0; m < MAPS; m++) {
                float tap = taps[(line * MASK_WIDTH + v) * MAPS + m];
                UNROLL for (int k = 0; k < 4; k++) sum[m][k] += tap * pixel[v + k];
            }
    }
    UNROLL for (int m = 0; m < MAPS; m++) {
        float shift = bias[m];
        *(SHARED float4*)(results + (m * OUT_HEIGHT + row) * OUT_WIDTH + 4 * strip) = make_float4(
            activate(sum[m][0] + shift), activate(sum[m][1] + shift),
            activate(sum[m][2] + shift), activate(sum[m][3] + shift));
    }
}

__global__ void RESIDENT_BOUNDS(THREADS, 1)
image_rows(const GLOBAL float* x, const GLOBAL float* weights_1, const GLOBAL float* bias_1,
           const GLOBAL float* weights_2, const GLOBAL float* bias_2, GLOBAL float* out, int images)
{
    // Of pieces, so that they begin on 16 bytes.
    __shared__ float4 tile_pieces[CHANNELS * TALL * PITCH / 4], between_pieces[PIECES];
    __shared__ float taps[MAPS * TAPS], partial[ROWS][THREADS];
    SHARED float *tile = (SHARED float*)tile_pieces, *between = (SHARED float*)between_pieces;
    int thread = threadIdx.x, first = blockIdx.x * ROWS;
    LET_NEXT_BEGIN();
    float4 held[ROWS][HELD], none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    UNROLL for (int r = 0; r < ROWS; r++)
        UNROLL for (int h = 0; h < HELD; h++) {
            int at = thread + h * THREADS, o = first + r < OUTPUTS ? first + r : OUTPUTS - 1;
            held[r][h] = at < PIECES ? piece_of(weights_2 + (size_t)o * INPUTS + 4 * at) : none;
        }
    load(x + (size_t)blockIdx.y * (CHANNELS * HEIGHT * WIDTH), weights_1, tile, taps);
    __syncthreads();
    ROLLED for (int e = thread; e < OUT_HEIGHT * STRIPS; e += THREADS)
        convolve(tile, taps, bias_1, e / STRIPS, e % STRIPS, between);
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
            activate(partial[thread][0] + bias_2[first + thread]);
}
