// one_barrier: several time steps in one launch, with one barrier a plane for all of them.
//
// A star's planes but the middle one hold a single point, above or below the cell itself. So a
// step's new plane completes an earlier plane of that step with a thread's own places alone, and
// complete sums go on to the next step, through all steps, before neighbours are read. Then the
// block meets once, and every step adds the neighbours of a thread's places to its open sums. What
// it removes: all barriers of a plane but one, and the wait for reads of shared memory after each,
// which now go on for all steps together. What it costs: two planes of every step in shared memory,
// which take turns.
//
// x[DEPTH][HEIGHT][WIDTH], taps[MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH], out[PLANES][ROWS][COLUMNS].
// Grid: x over tiles of TILE_Z x TILE_Y x TILE_X cells after the launch's steps, see volumes.h.
// Block: THREADS_X x THREADS_Y threads.  `levels` of LEVELS steps are made; ALIKE: in every launch.

#include "stars.h"

__global__ void RESIDENT_BOUNDS(THREADS, BLOCKS)
one_barrier(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out, int last,
            int levels CONSTANT_ARGUMENT(float, taps) SHARED_ARGUMENT(float, held))
{
    SHARED_ARRAY(float, held);
    int thread = threadIdx.y * THREADS_X + threadIdx.x;
    int row = threadIdx.y * THREAD_ROWS, column = threadIdx.x * THREAD_COLUMNS;
    int top = TILE_ROW - RIM_Y, left = TILE_COLUMN - RIM_X;
    unsigned ghosts = ghosts_of(top + row, left + column);
    int reach = levels * BEFORE_Z, beyond = FIRST_Z + COVER_Z - TILE_PLANE;
    int rounds = (beyond < TILE_Z ? beyond : TILE_Z) + 2 * reach;
    // The index of a thread's first place in a plane.
    int own = (row + BEFORE_Y) * PITCH + threadIdx.x + MORE_X, turn = 0;

    float open[LEVELS][OPEN][THREAD_ROWS][THREAD_COLUMNS];
    UNROLL for (int t = 0; t < LEVELS; t++)
        UNROLL for (int k = 0; k < OPEN; k++)
            UNROLL for (int y = 0; y < THREAD_ROWS; y++)
                UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) open[t][k][y][n] = 0.0f;
    for (int e = thread; e < 2 * LEVELS * HELD_SIZE; e += THREADS) held[e] = 0.0f;
    float mine[THREAD_ROWS][THREAD_COLUMNS], ahead[THREAD_ROWS][THREAD_COLUMNS];
    load(x, TILE_PLANE - reach, top + row, left + column, ahead);
    __syncthreads();

    ROLLED for (int round = 0; round < rounds; round++) {
        int z = TILE_PLANE - reach + round;
        SHARED float* planes = held + turn * LEVELS * HELD_SIZE + own;
        UNROLL for (int y = 0; y < THREAD_ROWS; y++)
            UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) mine[y][n] = ahead[y][n];
        if (round + 1 < rounds) load(x, z + 1, top + row, left + column, ahead);
        UNROLL for (int t = 0; t < LEVELS; t++)
            if (IS_MADE(t)) {
                show(planes + t * HELD_SIZE, mine);
                add_own(mine, open[t] CONSTANT_GIVEN(taps));
                z -= BEFORE_Z;
                clear_ghosts(z, ghosts, mine);
            }
        if (z >= TILE_PLANE) store(out, z, row, column, last, mine);
        // Threads here have read the planes of the round before, into which the next one writes.
        __syncthreads();
        UNROLL for (int t = 0; t < LEVELS; t++)
            if (IS_MADE(t))
                add_around(planes + t * HELD_SIZE, open[t][MIDDLE] CONSTANT_GIVEN(taps));
        turn ^= 1;
    }
}
