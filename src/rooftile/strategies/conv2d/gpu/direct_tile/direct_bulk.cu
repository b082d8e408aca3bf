// direct_bulk: the direct tile, its rows fetched by the bulk copy engine.
//
// A block takes an image.  One thread asks the engine for all of its rows at once, a piece for each
// band of results, and each piece has a barrier that is passed once: a warp waits for the rows
// that it reads and never for another warp.
// What it removes: the instructions of all threads that copied rows, and the wait of warps for each
// other before every band, in which a multiprocessor of few large loops finds no instruction.
//
// x[images][HEIGHT][WIDTH], taps[MASK_HEIGHT][TAP_ROW], bias[MAPS],
// out[images][MAPS][ROWS][COLUMNS]; with WINNERS, where[images][MAPS][ROWS][COLUMNS] too.
// Grid: images.  Block: threads over the windows of a band of BAND_ROWS result rows.

#include "common/pipelines/stages.h"
#include "common/pipelines/tma.h"
#include "conv2d/gpu/direct_tile/direct.h"

// ROW_SIZE leads from a result's row to the next.  Windows beyond the last column reach BEYOND
// elements into the next row.  READ(rows) is how much the first rows read, in whole units of the
// engine.  LAST is where the last thread's rows begin.
#define ROW_SIZE (POOL_HEIGHT * STRIDE_Y * WIDTH)
#define BEYOND (READ_COLUMNS > WIDTH ? READ_COLUMNS - WIDTH : 0)
#define END(rows) (((rows) * ROW_SIZE + (MASK_HEIGHT - STRIDE_Y) * WIDTH + BEYOND + 3) / 4 * 4)
#define READ(rows) (BEYOND > 0 && END(rows) > IMAGE_SIZE ? IMAGE_SIZE : END(rows))
#define LAST ((ROWS - 1) / THREAD_ROWS * THREAD_ROWS)

CONSTANT_ARRAY(float, taps, GROUP_TAPS)

// One thread asks for all pieces.
__device__ __forceinline__ void fetch(const float* image, unsigned to, unsigned barriers)
{
    ROLLED for (int e = 0; e < BANDS; e++) barrier_init(1, FULL_BARRIER(barriers, e));
    fence_barrier_init();
    ROLLED for (int e = 0, start = 0; e < BANDS; e++) {
        int rows = (e + 1) * BAND_ROWS, end = READ(rows < ROWS ? rows : ROWS);
        arrive_and_expect_tx(4 * (end - start), FULL_BARRIER(barriers, e));
        // Of narrow images, rounding up may have taken the last rows before.
        if (end > start)
            tma_load_1d(to + 4 * start, image + start, 4 * (end - start), FULL_BARRIER(barriers, e));
        start = end;
    }
}

__global__ RESIDENT_BOUNDS(BLOCK_PIXELS, LEAST_BLOCKS) void direct_bulk(
    const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ out
#if WINNERS
    , winner_place* __restrict__ where
#endif
)
{
    __shared__ __align__(16) float held[HELD_SIZE];
    __shared__ word arrived[BANDS];
    unsigned barriers = (unsigned)__cvta_generic_to_shared(arrived);
    int down = threadIdx.x / ACROSS * THREAD_ROWS, left = threadIdx.x % ACROSS * THREAD_COLUMNS;
    if (threadIdx.x == 0)
        fetch(x + (size_t)blockIdx.x * IMAGE_SIZE, (unsigned)__cvta_generic_to_shared(held),
              barriers);
    // Elements beyond the image reach sums that are not stored.
    if (READ(ROWS) < HELD_SIZE)
        for (int e = READ(ROWS) + threadIdx.x; e < HELD_SIZE; e += BLOCK_PIXELS) held[e] = 0.0f;
    __syncthreads();

    const float* patch = held + down * ROW_SIZE + left * POOL_WIDTH * STRIDE_X;
    int row = down;
    size_t to = ((size_t)blockIdx.x * MAPS * ROWS + row) * COLUMNS + left;
    ROLLED for (int band = 0; band < BANDS; band++) {
        float sum[THREAD_MAPS][SUM_ROWS][SUM_COLUMNS] = {};
        // Threads left over in the last band repeat others' sums, and store none.
        int beyond = ROWS % BAND_ROWS == 0 || row <= LAST ? 0 : row - LAST;
        barrier_wait(FULL_BARRIER(barriers, band), 0);
        add_channel(patch - beyond * ROW_SIZE, taps, sum);
        int rows = ROWS % BAND_ROWS == 0 ? THREAD_ROWS : ROWS - row;
        int columns = COLUMNS % THREAD_COLUMNS == 0 ? THREAD_COLUMNS : COLUMNS - left;
        UNROLL for (int m = 0; m < THREAD_MAPS && m < MAPS; m++) {
            size_t of_map = to + m * ROWS * COLUMNS;
#if WINNERS
            store_winners(out + of_map, where + of_map, sum[m], bias[m], rows, columns, row, left);
#else
            store(out + of_map, sum[m], bias[m], rows, columns, row, left);
#endif
        }
        patch += BAND_ROWS * ROW_SIZE, row += BAND_ROWS, to += BAND_ROWS * COLUMNS;
    }
}
