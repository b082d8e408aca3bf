// channels_atomic: input channels summed in parallel, joined by atomics.
//
// The rungs below walk all channels in one thread; with many channels and small outputs
// that leaves too few threads.  Here SLICE_CHANNELS channels are a thread's, and threads
// add their partial sums to one place in memory.  The order of those additions, and so
// the last bits, differ from run to run.  A sum is complete only when all blocks are
// done: bias, activation and pool need a kernel of their own, and the sums a clearing one.
//
// x[..][CHANNELS][HEIGHT][WIDTH], weights[MAPS][CHANNELS][MASK_HEIGHT][MASK_WIDTH],
// bias[MAPS], sums[images][MAPS][PLANE_SIZE], out[..][MAPS][ROWS][COLUMNS]; `images` of
// a slice of the batch, the first of them `first`.

#define FAMILY channels_atomic
#include "conv2d/gpu/finish.h"

#define SLICES ((CHANNELS + SLICE_CHANNELS - 1) / SLICE_CHANNELS)
#define SUMS_SIZE (MAPS * PLANE_SIZE)

// Grid: x over the sums in blocks of THREADS.
__global__ void channels_atomic_clear(GLOBAL float* sums, int images)
{
    int64 element = (int64)blockIdx.x * THREADS + threadIdx.x;
    if (element < (int64)images * SUMS_SIZE) sums[element] = 0.0f;
}

// Grid: x over the sums in blocks of THREADS, y over slices of channels.
__global__ void channels_atomic_accumulate(
    const GLOBAL float* x, const GLOBAL float* weights, GLOBAL float* sums, int first, int images)
{
    int64 element = (int64)blockIdx.x * THREADS + threadIdx.x;
    if (element >= (int64)images * SUMS_SIZE) return;

    int n = (int)(element / SUMS_SIZE), inside = (int)(element % SUMS_SIZE);
    int m = inside / PLANE_SIZE, position = inside % PLANE_SIZE;
    int top = READ_ROW(position / READ_COLUMNS) * STRIDE_Y - PAD_Y;
    int left = READ_COLUMN(position % READ_COLUMNS) * STRIDE_X - PAD_X;
    const GLOBAL float* image = x + ((size_t)first + n) * IMAGE_SIZE;
    for (int slice = blockIdx.y; slice < SLICES; slice += gridDim.y) {
        int begin = slice * SLICE_CHANNELS;
        int end = begin + SLICE_CHANNELS < CHANNELS ? begin + SLICE_CHANNELS : CHANNELS;
        float sum = 0.0f;
        for (int c = begin; c < end; c++)
            for (int p = 0; p < MASK_HEIGHT; p++)
                for (int q = 0; q < MASK_WIDTH; q++)
                    sum += weights[((m * CHANNELS + c) * MASK_HEIGHT + p) * MASK_WIDTH + q] *
                           pixel(image + c * HEIGHT * WIDTH, top + p, left + q);
        atomicAdd(sums + element, sum);
    }
}
