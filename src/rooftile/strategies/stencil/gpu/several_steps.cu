// several_steps: several time steps in one launch.
//
// As in march a block marches through the planes of its tile.  A plane that the first step has
// completed goes on to the second, without a way to memory and back, and so on: step t works t + 1
// planes behind the one that is read.  What it removes: all reads and writes of grids between these
// steps.  What it costs: a tile whose valid part shrinks by the stencil's reach in every step, so
// that the rim of a tile is computed by several blocks, and registers for open sums of every step.
//
// Two planes in shared memory take turns, and one barrier a step is enough.
//
// x[DEPTH][HEIGHT][WIDTH], taps[MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH], out[PLANES][ROWS][COLUMNS].
// Grid: x over tiles of TILE_Z x TILE_Y x TILE_X cells after the launch's steps, see volumes.h.
// Block: THREADS_X x THREADS_Y threads.  `levels` of LEVELS steps are made.

#include "several_steps.h"

// A thread's places with those around them: its own from registers, others, as far as a tap meets
// them, from shared memory, where `own` is the place of its first.
__device__ __forceinline__ void gather(const SHARED float* own,
                                       float mine[THREAD_ROWS][THREAD_COLUMNS],
                                       float patch[PATCH_Y][PATCH_X])
{
    UNROLL for (int r = 0; r < PATCH_Y; r++)
        UNROLL for (int s = 0; s < PATCH_X; s++) {
            int y = r - BEFORE_Y, n = s - BEFORE_X;
            int in_rows = y >= 0 && y < THREAD_ROWS, in_columns = n >= 0 && n < THREAD_COLUMNS;
            if (in_rows && in_columns)
                patch[r][s] = mine[y][n];
            else if (!STAR || in_rows || in_columns)
                patch[r][s] = place_at(own, y, n);
        }
}

// Give a patch of a plane to the open sums of a step; what is complete comes in `made`.
__device__ __forceinline__ void add_patch(float patch[PATCH_Y][PATCH_X],
                                          float open[OPEN + 1][THREAD_ROWS][THREAD_COLUMNS],
                                          float made[THREAD_ROWS][THREAD_COLUMNS]
                                              CONSTANT_ARGUMENT(float, taps))
{
    UNROLL for (int k = 0; k < MASK_DEPTH; k++)
        UNROLL for (int y = 0; y < THREAD_ROWS; y++)
            UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) {
                float sum = k < OPEN ? open[k][y][n] : 0.0f;
                UNROLL for (int p = 0; p < MASK_HEIGHT; p++)
                    UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                        if (IS_TAP(OPEN - k, p, q))
                            sum += taps[TAP(0, 0, OPEN - k, p, q)] * patch[y + p][n + q];
                if (k == 0)
                    made[y][n] = sum;
                else
                    open[k - 1][y][n] = sum;
            }
}

__global__ void RESIDENT_BOUNDS(THREADS, BLOCKS)
several_steps(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out, int last,
              int levels CONSTANT_ARGUMENT(float, taps))
{
    __shared__ float held[2 * HELD_SIZE];
    int thread = threadIdx.y * THREADS_X + threadIdx.x;
    int row = threadIdx.y * THREAD_ROWS, column = threadIdx.x * THREAD_COLUMNS;
    int top = TILE_ROW - RIM_Y, left = TILE_COLUMN - RIM_X;
    unsigned ghosts = ghosts_of(top + row, left + column);
    int reach = levels * BEFORE_Z, beyond = FIRST_Z + COVER_Z - TILE_PLANE;
    int rounds = (beyond < TILE_Z ? beyond : TILE_Z) + 2 * reach;
    // The index of a thread's first place in a plane.
    int own = (row + BEFORE_Y) * PITCH + threadIdx.x + MORE_X, turn = 0;

    float open[LEVELS][OPEN + 1][THREAD_ROWS][THREAD_COLUMNS];
    UNROLL for (int t = 0; t < LEVELS; t++)
        UNROLL for (int k = 0; k < OPEN; k++)
            UNROLL for (int y = 0; y < THREAD_ROWS; y++)
                UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) open[t][k][y][n] = 0.0f;
    for (int e = thread; e < 2 * HELD_SIZE; e += THREADS) held[e] = 0.0f;
    float mine[THREAD_ROWS][THREAD_COLUMNS], ahead[THREAD_ROWS][THREAD_COLUMNS];
    load(x, TILE_PLANE - reach, top + row, left + column, ahead);
    __syncthreads();

    ROLLED for (int round = 0; round < rounds; round++) {
        int z = TILE_PLANE - reach + round;
        UNROLL for (int y = 0; y < THREAD_ROWS; y++)
            UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) mine[y][n] = ahead[y][n];
        if (round + 1 < rounds) load(x, z + 1, top + row, left + column, ahead);
        UNROLL for (int t = 0; t < LEVELS; t++)
            if (t < levels) {
                SHARED float* place = held + turn * HELD_SIZE + own;
                show(place, mine);
                __syncthreads();
                float patch[PATCH_Y][PATCH_X];
                gather(place, mine, patch);
                add_patch(patch, open[t], mine CONSTANT_GIVEN(taps));
                turn ^= 1, z -= BEFORE_Z;
                clear_ghosts(z, ghosts, mine);
            }
        if (z >= TILE_PLANE) store(out, z, row, column, last, mine);
    }
}
