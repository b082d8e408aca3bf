// neighbours: several time steps in one launch, and a warp waits for its neighbours alone.
//
// In one_barrier the whole block meets once a plane, and every warp waits for the slowest. But a
// warp reads planes of neighbouring warps alone. So each warp has a barrier of its own, at which it
// arrives when its planes are stored, and waits at its neighbours' barriers: it may be a plane
// before them, or after, and warps farther away by more. Here a thread's places are all inside the
// grid or all outside, so its loads and stores are known before the first plane, and ghost cells
// cost nothing: their threads store nothing, and zeros stay there. What it removes: waits for warps
// whose planes are not read, and tests.
//
// Two planes of every step take turns. A warp that writes the next one has met its neighbours after
// they had read the plane of the same turn. Every thread arrives and waits for itself.
//
// x[DEPTH][HEIGHT][WIDTH], taps[MASK_DEPTH][MASK_HEIGHT][MASK_WIDTH], out[DEPTH][HEIGHT][WIDTH].
// Grid: x over tiles of TILE_Z x TILE_Y x TILE_X cells after the launch's steps, see volumes.h.
// Block: THREADS_X x THREADS_Y threads.  `levels` of LEVELS steps are made; ALIKE: in every launch.

#include "common/pipelines/stages.h"
#include "common/pipelines/tma.h"
#include "stars.h"

#define WARPS ((THREADS + 31) / 32)
// Number of warps before and after with places around a warp's own.
#define NEAR (((BEFORE_Y + THREAD_ROWS - 1) / THREAD_ROWS * THREADS_X + 31) / 32)

// Neighbouring places of a row.
struct __align__(4 * THREAD_COLUMNS) run { float of[THREAD_COLUMNS]; };

// A thread's places of a plane, of which the first is at `from`; zeros where it is not `inside`.
__device__ __forceinline__ void fetch(const float* from, int inside,
                                      float to[THREAD_ROWS][THREAD_COLUMNS])
{
    UNROLL for (int y = 0; y < THREAD_ROWS; y++) {
        struct run found = {};
        if (inside) found = *(const struct run*)(from + y * WIDTH);
        UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) to[y][n] = found.of[n];
    }
}

__device__ __forceinline__ void keep(float* to, float mine[THREAD_ROWS][THREAD_COLUMNS])
{
    UNROLL for (int y = 0; y < THREAD_ROWS; y++) {
        struct run made;
        UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) made.of[n] = mine[y][n];
        *(struct run*)(to + y * WIDTH) = made;
    }
}

// Make ghost cells of all of a thread's places.
__device__ __forceinline__ void clear(float mine[THREAD_ROWS][THREAD_COLUMNS])
{
    UNROLL for (int y = 0; y < THREAD_ROWS; y++)
        UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) mine[y][n] = 0.0f;
    // This keeps the compiler from selecting each place in every plane: few planes are ghosts.
    asm volatile("");
}

// A thread says at its warp's barrier of this turn that its planes are shown, and waits for the
// neighbouring warps.
__device__ __forceinline__ void meet(unsigned barriers, int warp, int parity)
{
    __syncwarp();
    barrier_arrive(barriers + 8 * warp);
    UNROLL for (int apart = -NEAR; apart <= NEAR; apart++) {
        int other = warp + apart;
        if (apart != 0 && other >= 0 && other < WARPS) barrier_wait(barriers + 8 * other, parity);
    }
    __syncwarp();
}

__global__ void RESIDENT_BOUNDS(THREADS, BLOCKS)
neighbours(const float* __restrict__ x, float* __restrict__ out, int last, int levels)
{
    SHARED_ARRAY(float, held);
    __shared__ word shown[2][WARPS];
    unsigned barriers = (unsigned)__cvta_generic_to_shared(shown);
    int thread = threadIdx.y * THREADS_X + threadIdx.x;
    int row = threadIdx.y * THREAD_ROWS - RIM_Y, column = threadIdx.x * THREAD_COLUMNS - RIM_X;
    int i = TILE_ROW + row, j = TILE_COLUMN + column;
    int inside = i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH;
    int stores = inside && row >= 0 && row < TILE_Y && column >= 0 && column < TILE_X;
    int reach = levels * BEFORE_Z, first = TILE_PLANE - reach;
    int rounds = (DEPTH - TILE_PLANE < TILE_Z ? DEPTH - TILE_PLANE : TILE_Z) + 2 * reach;
    const float* from = x + (first * PLANE_SIZE + (int64)i * WIDTH + j);
    // The plane that the last step completes is `reach` planes before the loaded one.
    float* to = out + ((first - reach) * PLANE_SIZE + (int64)i * WIDTH + j);
    int own = (threadIdx.y * THREAD_ROWS + BEFORE_Y) * PITCH + threadIdx.x + MORE_X;

    float open[LEVELS][OPEN][THREAD_ROWS][THREAD_COLUMNS];
    UNROLL for (int t = 0; t < LEVELS; t++)
        UNROLL for (int k = 0; k < OPEN; k++)
            UNROLL for (int y = 0; y < THREAD_ROWS; y++)
                UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) open[t][k][y][n] = 0.0f;
    for (int e = thread; e < 2 * LEVELS * HELD_SIZE; e += THREADS) held[e] = 0.0f;
    if (thread == 0)
        for (int warp = 0; warp < 2 * WARPS; warp++)
            barrier_init(min(32, THREADS - warp % WARPS * 32), barriers + 8 * warp);
    float mine[THREAD_ROWS][THREAD_COLUMNS], ahead[THREAD_ROWS][THREAD_COLUMNS];
    fetch(from, inside && first >= 0, ahead);
    __syncthreads();

    ROLLED for (int round = 0; round < rounds; round++) {
        int z = first + round, half = round % 2;
        float* planes = held + half * (LEVELS * HELD_SIZE) + own;
        UNROLL for (int y = 0; y < THREAD_ROWS; y++)
            UNROLL for (int n = 0; n < THREAD_COLUMNS; n++) mine[y][n] = ahead[y][n];
        from += PLANE_SIZE, to += PLANE_SIZE;
        fetch(from, inside && z + 1 >= 0 && z + 1 < DEPTH && round + 1 < rounds, ahead);
        UNROLL for (int t = 0; t < LEVELS; t++)
            if (IS_MADE(t)) {
                if (inside) show(planes + t * HELD_SIZE, mine);
                add_own(mine, open[t]);
                z -= BEFORE_Z;
                if (z < 0 || z >= DEPTH) clear(mine);
            }
        if (stores && z >= TILE_PLANE) keep(to - PLANE_SIZE, mine);
        meet(barriers + half * (8 * WARPS), thread / 32, round / 2 % 2);
        UNROLL for (int t = 0; t < LEVELS; t++)
            if (IS_MADE(t)) add_around(planes + t * HELD_SIZE, open[t][MIDDLE]);
    }
}
