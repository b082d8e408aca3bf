// naive: one thread makes one pixel of x of the four old ones around it.
//
// data[][CHANNELS][OLD_HEIGHT][OLD_WIDTH], targets[][WORDS], order[] (which image a place of the epoch
// has), variation[] (of a place of the epoch: rows moved, columns moved << 8, mirrored << 16), step[1],
// places[HEIGHT + WIDTH] (the first of the two rows or columns), shares[HEIGHT + WIDTH][2] (their
// weights), scales[CHANNELS][2] (factor, and what is taken off); x[][CHANNELS][HEIGHT][WIDTH],
// chosen[][WORDS].
// Grid: x over the pixels of all images.

#include "moved.h"

__global__ void naive(const GLOBAL given_number* data, const GLOBAL int* targets,
                      const GLOBAL int* order, const GLOBAL int* variation, const GLOBAL int* step,
                      const GLOBAL int* places, const GLOBAL float* shares,
                      const GLOBAL float* scales, GLOBAL float* x, GLOBAL int* chosen, int64 count)
{
    int64 at = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (at >= count) return;
    int j = at % WIDTH, i = at / WIDTH % HEIGHT, c = at / (WIDTH * HEIGHT) % CHANNELS;
    int64 n = at / ((int64)WIDTH * HEIGHT * CHANNELS), place = (int64)step[0] * BATCH + n;
    int64 number = order[place];
    int varied = variation[place];
    if (i == 0 && j == 0 && c == 0)
        for (int k = 0; k < WORDS; k++) chosen[n * WORDS + k] = targets[number * WORDS + k];
    const GLOBAL given_number* plane = data + (number * CHANNELS + c) * OLD_HEIGHT * OLD_WIDTH;
#if FLOATS
    x[at] = moved(plane, varied, i, j);
#else
    int top = places[i], below = top + 1 < OLD_HEIGHT ? top + 1 : top;
    int left = places[HEIGHT + j], right = left + 1 < OLD_WIDTH ? left + 1 : left;
    float near = shares[2 * (HEIGHT + j)], far = shares[2 * (HEIGHT + j) + 1];
    float above = near * moved(plane, varied, top, left) + far * moved(plane, varied, top, right);
    float under = near * moved(plane, varied, below, left) + far * moved(plane, varied, below, right);
    float level = shares[2 * i] * above + shares[2 * i + 1] * under;
    x[at] = level * scales[2 * c] - scales[2 * c + 1];
#endif
}
