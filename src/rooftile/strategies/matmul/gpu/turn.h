// Turns a matrix whose lines lie the other way than a product reads them.

#pragma once

#define TURNED 32

// to[across][down] from `from`[down][across].  Grid: x over tiles of TURNED x TURNED, along the lines
// of `from` first.  Block: TURNED x 8.
__global__ __launch_bounds__(TURNED * 8) void KERNEL(turn)(
    const float* __restrict__ from, float* __restrict__ to, int down, int across)
{
    // A column more than is used: threads read down the columns, which lie in different banks.
    __shared__ float held[TURNED][TURNED + 1];
    int tiles = (across + TURNED - 1) / TURNED, x = threadIdx.x;
    int column = blockIdx.x % tiles * TURNED, line = blockIdx.x / tiles * TURNED;
    UNROLL for (int y = threadIdx.y; y < TURNED; y += 8)
        if (column + x < across && line + y < down)
            held[y][x] = from[(size_t)(line + y) * across + column + x];
    __syncthreads();
    UNROLL for (int y = threadIdx.y; y < TURNED; y += 8)
        if (column + y < across && line + x < down)
            to[(size_t)(column + y) * down + line + x] = held[x][y];
}
