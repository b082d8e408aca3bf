// row_private: each thread copies its rows to private memory first.
//
// Private is OpenCL's word for what a thread has alone: registers, or its own stretch of device
// memory where they are too few or a loop indexes them. A short SPAN fits into registers. The rows
// of whole lines, [6][228] in the publication, do not: they go to memory and come back, once for
// each thread, although all threads of a block copy the same. What it removes: repeated reads of
// an element by one thread; what it costs: a copy of the rows for each thread.
//
// x[images][CHANNELS][HEIGHT][WIDTH], weights[CHANNELS][MASK_HEIGHT][MASK_WIDTH][MAPS],
// bias[MAPS], out[images][MAPS][ROWS][COLUMNS].
// Grid: x groups that share out the rows of the result (the tunable GROUPS), y spans of SPAN columns
// of the convolution, z images.  Block: ITEMS threads that share out the maps.

#include "conv2d/gpu/rows.h"

__global__ void LAUNCH_BOUNDS(ITEMS)
row_private(const GLOBAL float* __restrict__ x, const GLOBAL float* __restrict__ weights,
            const GLOBAL float* __restrict__ bias, GLOBAL float* __restrict__ out, int images)
{
    int left = blockIdx.y * SPAN - PAD_X;
    for (int n = blockIdx.z; n < images; n += gridDim.z)
        for (int row = blockIdx.x * RESULT_ROWS; row < ROWS; row += gridDim.x * RESULT_ROWS)
            for (int m = threadIdx.x; m < MAPS; m += ITEMS) {
                int top = row * POOL_HEIGHT - PAD_Y;
                float4 sums[WINDOWS * SUM_ROWS];
                start_sums(sums, bias[m]);
                for (int c = 0; c < CHANNELS; c++) {
                    const GLOBAL float* channel = x + (size_t)n * IMAGE_SIZE + c * HEIGHT * WIDTH;
                    float taps[MASK_SIZE], lines[LINES][LINE];
                    load_taps(taps, weights, c, m);
                    EACH_WINDOW for (int j = 0; j < LINE; j++)
                        UNROLL for (int l = 0; l < LINES; l++)
                            lines[l][j] = pixel(channel, top + l, left + j);
                    EACH_WINDOW for (int w = 0; w < WINDOWS; w++)
                        UNROLL for (int l = 0; l < LINES; l++)
                            slide(sums + w * SUM_ROWS, lines[l] + 4 * w, taps, l);
                }
                store_rows(out, n, m, row, sums);
            }
}
