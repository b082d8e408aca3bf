// Rung 5, several_steps: several time steps in one launch.
//
// As in rung 4 a block marches through the planes of its tile.  A plane that the first step has
// completed goes on to the second, without a way to memory and back, and so on: step t works t + 1
// planes behind the one that is read.  What it removes: all reads and writes of grids between these
// steps.  What it costs: a tile whose valid part shrinks by the stencil's reach in every step, so
// that the rim of a tile is computed by several blocks, and registers for open sums of every step.
//
// A thread holds THREAD_ROWS x THREAD_COLUMNS neighbouring places in registers and finds the places
// around them in shared memory: plane[column of a thread][row][thread], a column each, so that
// neighbouring lanes meet neighbouring banks.  Two such planes take turns, and one barrier a step is
// enough.  Rims of zeros around them stand for places that no thread has; nothing that depends on
// them is stored.
//
// x[DEPTH][HEIGHT][WIDTH], taps[MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH], out[PLANES][ROWS][COLUMNS].
// Grid: x over tiles of TILE_Z x TILE_Y x TILE_X cells after the launch's steps, see volumes.h.
// Block: THREADS_X x THREADS_Y threads.  `levels` of LEVELS steps are made.

#include "common/volumes.h"

#define THREADS (THREADS_X * THREADS_Y)
// What the tile has lost on each side after all steps.
#define RIM_Y (LEVELS * BEFORE_Y)
#define RIM_X (LEVELS * BEFORE_X)
// Places of a tile, rims included.
#define PLACES_Y (THREADS_Y * THREAD_ROWS)
#define PLACES_X (THREADS_X * THREAD_COLUMNS)
// Threads beyond the first and last whose places neighbours would have.  A row of a plane holds a
// place of each, and as many more as lead the warps' reads apart: PITCH in all.
#define MORE_X ((BEFORE_X + THREAD_COLUMNS - 1) / THREAD_COLUMNS)
#define COLUMN_SIZE ((PLACES_Y + 2 * BEFORE_Y) * PITCH)
#define HELD_SIZE (THREAD_COLUMNS * COLUMN_SIZE)
// Sums that wait for planes to come.
#define OPEN (MASK_DEPTH - 1)
#define PATCH_Y (THREAD_ROWS + 2 * BEFORE_Y)
#define PATCH_X (THREAD_COLUMNS + 2 * BEFORE_X)

CONSTANT_ARRAY(float, taps, TAPS)

// A thread's places of plane z, of which the first lies at (i, j).
__device__ __forceinline__ void load(const GLOBAL float* x, int z, int i, int j,
                                     float to[THREAD_ROWS][THREAD_COLUMNS])
{
    UNROLL for (int y = 0; y < THREAD_ROWS; y++) {
#if PAIRS
        int inside = z >= 0 && z < DEPTH && i + y >= 0 && i + y < HEIGHT && j >= 0 && j < WIDTH;
        float2 two = make_float2(0.0f, 0.0f);
        if (inside)
            two = ((const GLOBAL float2*)x)[((int64)z * HEIGHT + i + y) * (WIDTH / 2) + j / 2];
        to[y][0] = two.x, to[y][1] = two.y;
#else
        UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) to[y][n] = element(x, z, i + y, j + n);
#endif
    }
}

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
            // Counted from a thread so far to the left that nothing is negative.
            int column = n + MORE_X * THREAD_COLUMNS;
            if (in_rows && in_columns)
                patch[r][s] = mine[y][n];
            else if (!STAR || in_rows || in_columns)
                patch[r][s] = own[column % THREAD_COLUMNS * COLUMN_SIZE + y * PITCH +
                                  column / THREAD_COLUMNS - MORE_X];
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
sums(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out, int last,
     int levels CONSTANT_ARGUMENT(float, taps))
{
    __shared__ float held[2 * HELD_SIZE];
    int thread = threadIdx.y * THREADS_X + threadIdx.x;
    int row = threadIdx.y * THREAD_ROWS, column = threadIdx.x * THREAD_COLUMNS;
    int top = TILE_ROW - RIM_Y, left = TILE_COLUMN - RIM_X;
    int whole = top >= 0 && top + PLACES_Y <= HEIGHT && left >= 0 && left + PLACES_X <= WIDTH;
    int reach = levels * BEFORE_Z, beyond = FIRST_Z + COVER_Z - TILE_PLANE;
    int rounds = (beyond < TILE_Z ? beyond : TILE_Z) + 2 * reach;
    // Where a thread's first place lies in a plane.
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
                UNROLL for (int y = 0; y < THREAD_ROWS; y++)
                    UNROLL for (int n = 0; n < THREAD_COLUMNS; n++)
                        place[n * COLUMN_SIZE + y * PITCH] = mine[y][n];
                __syncthreads();
                float patch[PATCH_Y][PATCH_X];
                gather(place, mine, patch);
                add_patch(patch, open[t], mine CONSTANT_GIVEN(taps));
                turn ^= 1, z -= BEFORE_Z;
                // Ghost cells are zero in every step.
                if (!whole || z < 0 || z >= DEPTH)
                    UNROLL for (int y = 0; y < THREAD_ROWS; y++)
                        UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) {
                            int i = top + row + y, j = left + column + n;
                            if (z < 0 || z >= DEPTH || i < 0 || i >= HEIGHT || j < 0 || j >= WIDTH)
                                mine[y][n] = 0.0f;
                        }
            }
        if (z < TILE_PLANE) continue;
        UNROLL for (int y = 0; y < THREAD_ROWS; y++) {
            int r = row + y - RIM_Y, s = column - RIM_X;
            if (r < 0 || r >= TILE_Y) continue;
#if PAIRS
            if (s >= 0 && s < TILE_X && TILE_ROW + r < HEIGHT && TILE_COLUMN + s < WIDTH)
                ((GLOBAL float2*)out)[((int64)z * HEIGHT + TILE_ROW + r) * (WIDTH / 2) +
                                      (TILE_COLUMN + s) / 2] = make_float2(mine[y][0], mine[y][1]);
#else
            UNROLL for (int n = 0; n < THREAD_COLUMNS; n++)
                if (s + n >= 0 && s + n < TILE_X)
                    put(out, z, TILE_ROW + r, TILE_COLUMN + s + n, mine[y][n], last);
#endif
        }
    }
}
