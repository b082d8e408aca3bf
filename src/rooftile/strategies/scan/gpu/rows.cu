// rows: a line stays in registers; warps meet once, between loading and storing it.
//
// A team of warps takes a line, tile after tile; a block has LINES teams.  Rows of vectors are
// scanned by exchanges within a warp, so that shared memory holds one number for each warp and a
// tile has one barrier.  What it removes: every pass through shared memory.
//
// x[lines][count], y[lines][count].
// Grid: x over blocks of LINES lines.
// Block: x over TEAM threads, a multiple of 32, y over LINES lines.

#include "tile.h"

#define WARPS (TEAM / 32)
#define TILE (WARPS * ROWS * SPAN)

__global__ void LAUNCH_BOUNDS(TEAM * LINES)
rows(const given* __restrict__ x, result* __restrict__ y, int64 lines, int64 count)
{
    __shared__ carried totals[2][LINES][WARPS];
    int warp = threadIdx.x / 32, turn = 0;
    int64 line = (int64)blockIdx.x * LINES + threadIdx.y;
    // Teams beyond the last line go through it with the others, and store nothing.
    bool there = line < lines;
    if (!there) line = lines - 1;
    const given* from = x + line * count;
    result* to = y + line * count;
    int64 tiles = (count + TILE - 1) / TILE;
    struct carry before = nothing();
    for (int64 tile = 0; tile < tiles; tile++, turn ^= 1) {
        int64 low = (REVERSE ? tiles - 1 - tile : tile) * TILE +
                    (REVERSE ? WARPS - 1 - warp : warp) * (ROWS * SPAN);
        struct rows rows;
        load_rows(&rows, from, low, count);
        carried all = scan_rows(&rows);
        struct carry own = before;
        if (WARPS == 1) {
            before = joined(before, all);
        } else {
            if (threadIdx.x % 32 == 0) totals[turn][threadIdx.y][warp] = all;
            __syncthreads();
            UNROLL for (int w = 0; w < WARPS; w++) {
                if (w == warp) own = before;
                before = joined(before, totals[turn][threadIdx.y][w]);
            }
        }
        if (there) store_rows(&rows, value_of(own), to, low, count);
    }
}
