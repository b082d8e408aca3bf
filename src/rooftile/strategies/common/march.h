// A block marches through the planes of its tile; what each plane adds to the sums of others waits
// in registers.
//
// A plane is brought to shared memory once, by copies that run STAGES - 1 planes ahead.  There each
// thread reads the patch beneath THREAD_ROWS x 4 sums, four values at a time, and a value that it
// has read is used for every tap that meets it: in its own plane's sums and in those before and
// behind.  So MASK_DEPTH sums a place are open at once, and the oldest is complete after each plane.
//
// Block: THREADS_X x THREADS_Y threads.  TILE_X is 4 x THREADS_X, TILE_Y is THREAD_ROWS x THREADS_Y.
// VECTOR: how many neighbours a copy brings, 4 where rows begin on 16 bytes, else 1.

#include "common/volumes.h"

#define THREADS (THREADS_X * THREADS_Y)
// A row of a stage begins on 16 bytes before its first sum's patch.
#define GHOSTS_LEFT ((BEFORE_X + 3) / 4 * 4)
#define GHOSTS_RIGHT ((MASK_WIDTH - 1 - BEFORE_X + 3) / 4 * 4)
#define PITCH (GHOSTS_LEFT + TILE_X + GHOSTS_RIGHT)
#define PATCH (GHOSTS_LEFT + 4 + GHOSTS_RIGHT)
#define STAGE_ROWS (TILE_Y + MASK_HEIGHT - 1)
#define STAGE_SIZE (STAGE_ROWS * PITCH)
#define PIECES_A_ROW (PITCH / VECTOR)
#define PIECES (STAGE_ROWS * PIECES_A_ROW)
#define SHARE ((PIECES + THREADS - 1) / THREADS)

#if VECTOR == 4
typedef float4 piece;
#define NO_PIECE make_float4(0.0f, 0.0f, 0.0f, 0.0f)
#else
typedef float piece;
#define NO_PIECE 0.0f
#endif

CONSTANT_ARRAY(float, taps, TAPS)

// Offsets of the pieces of a plane that a thread loads, from the corner of the tile's patch; -1 for
// pieces outside the plane. In a stage piece e is at e * VECTOR.
struct share {
    int from[SHARE];
};

// A thread's pieces, which are the same in every plane. Elements outside a plane are zero in every
// stage, and stay so.
__device__ __forceinline__ struct share pieces_of(SHARED float* stages, int thread)
{
    struct share own;
    UNROLL for (int n = 0; n < SHARE; n++) {
        int e = thread + n * THREADS;
        int r = e / PIECES_A_ROW, first = e % PIECES_A_ROW * VECTOR;
        int i = TILE_ROW - BEFORE_Y + r, j = TILE_COLUMN - GHOSTS_LEFT + first;
        int real = e < PIECES && i >= 0 && i < HEIGHT && j >= 0 && j < WIDTH;
        own.from[n] = real ? r * WIDTH + first : -1;
        if (e < PIECES && !real)
            for (int stage = 0; stage < STAGES; stage++)
                *(SHARED piece*)(stages + stage * STAGE_SIZE + e * VECTOR) = NO_PIECE;
    }
    return own;
}

// Start to bring what the block's tile reads of plane z of a channel.
__device__ __forceinline__ void bring(const GLOBAL float* x, int c, int z, struct share own,
                                      SHARED float* stage, int thread)
{
    int64 corner = (int64)(TILE_ROW - BEFORE_Y) * WIDTH + TILE_COLUMN - GHOSTS_LEFT;
    const GLOBAL float* plane = channel_of(x, c) + z * PLANE_SIZE;
    SHARED piece* to = (SHARED piece*)stage + thread;
    if (z >= 0 && z < DEPTH) {
        UNROLL for (int n = 0; n < SHARE; n++)
            if (own.from[n] >= 0)
                COPY_ASYNC(piece, to + n * THREADS,
                           (const GLOBAL piece*)(plane + (corner + own.from[n])));
    } else
        UNROLL for (int n = 0; n < SHARE; n++)
            if (own.from[n] >= 0) to[n * THREADS] = NO_PIECE;
}

// Four neighbouring sums, of which the first is at (z, i, j).
__device__ __forceinline__ void put_four(GLOBAL float* out, int z, int i, int j, const float* four,
                                         int last)
{
#if VECTOR_STORES
    // Counted in vectors: of a float's address the compiler does not see that it is aligned.
    int64 place = TILE_VOLUME * (RESULT_SIZE / 4) + ((int64)z * HEIGHT + i) * (WIDTH / 4) + j / 4;
    if (z < DEPTH && i < HEIGHT && j < WIDTH)
        ((GLOBAL float4*)out)[place] = make_float4(four[0], four[1], four[2], four[3]);
#else
    UNROLL for (int n = 0; n < 4; n++) put(out, z, i, j + n, four[n], last);
#endif
}

// Adds one staged plane of a channel to the open sums; the oldest, made[0], gets its last tap.
// `mask` belongs to the map and channel. An index that adds these to a tap's own, as TAP does, is
// wrong in Intel's OpenCL 2026.2 where it vectorises: two 32-bit indices become one of 64 bits.
__device__ __forceinline__ void add_plane(const SHARED float* patch, const CONSTANT float* mask,
                                          float made[MASK_DEPTH][THREAD_ROWS][4])
{
    UNROLL for (int r = 0; r < THREAD_ROWS + MASK_HEIGHT - 1; r++) {
        float values[PATCH];
        UNROLL for (int n = 0; n < PATCH; n += 4) {
            float4 four = *(const SHARED float4*)(patch + r * PITCH + n);
            values[n] = four.x, values[n + 1] = four.y;
            values[n + 2] = four.z, values[n + 3] = four.w;
        }
        UNROLL for (int y = 0; y < THREAD_ROWS; y++) {
            int p = r - y;
            UNROLL for (int q = 0; q < MASK_WIDTH; q++)
                UNROLL for (int k = 0; k < MASK_DEPTH; k++)
                    if (p >= 0 && p < MASK_HEIGHT && IS_TAP(MASK_DEPTH - 1 - k, p, q))
                        UNROLL for (int n = 0; n < 4; n++)
                            made[k][y][n] += mask[TAP(0, 0, MASK_DEPTH - 1 - k, p, q)] *
                                             values[GHOSTS_LEFT - BEFORE_X + q + n];
        }
    }
}

__global__ void RESIDENT_BOUNDS(THREADS, BLOCKS)
FAMILY(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out,
       int last CONSTANT_ARGUMENT(float, taps))
{
    __shared__ float4 held[STAGES * STAGE_SIZE / 4];
    SHARED float* stages = (SHARED float*)held;
    int thread = threadIdx.y * THREADS_X + threadIdx.x;
    int row = threadIdx.y * THREAD_ROWS, column = 4 * threadIdx.x;
    int first = TILE_PLANE - BEFORE_Z, beyond = FIRST_Z + COVER_Z - TILE_PLANE;
    int rounds = ((beyond < TILE_Z ? beyond : TILE_Z) + MASK_DEPTH - 1) * CHANNELS;

    float made[MASK_DEPTH][THREAD_ROWS][4];
    UNROLL for (int k = 0; k < MASK_DEPTH; k++)
        UNROLL for (int y = 0; y < THREAD_ROWS; y++)
            UNROLL for (int n = 0; n < 4; n++) made[k][y][n] = 0.0f;

    struct share own = pieces_of(stages, thread);
    for (int ahead = 0; ahead < STAGES - 1; ahead++) {
        if (ahead < rounds)
            bring(x, ahead % CHANNELS, first + ahead / CHANNELS, own, stages + ahead * STAGE_SIZE,
                  thread);
        COPIES_SENT();
    }
    int stage = 0;
    ROLLED for (int round = 0; round < rounds; round++) {
        COPIES_LEFT(STAGES - 2);
        __syncthreads();
        // Everyone is done with the plane before, so its stage is free.
        int ahead = round + STAGES - 1, into = stage == 0 ? STAGES - 1 : stage - 1;
        if (ahead < rounds)
            bring(x, ahead % CHANNELS, first + ahead / CHANNELS, own, stages + into * STAGE_SIZE,
                  thread);
        COPIES_SENT();
        add_plane(stages + stage * STAGE_SIZE + row * PITCH + column,
                  taps + TAP(TILE_MAP, round % CHANNELS, 0, 0, 0), made);
        stage = stage == STAGES - 1 ? 0 : stage + 1;
        if (round % CHANNELS < CHANNELS - 1) continue;

        int plane = TILE_PLANE + round / CHANNELS - (MASK_DEPTH - 1);
        UNROLL for (int y = 0; y < THREAD_ROWS; y++)
            if (plane >= TILE_PLANE)
                put_four(out, plane, TILE_ROW + row + y, TILE_COLUMN + column, made[0][y], last);
        UNROLL for (int k = 0; k < MASK_DEPTH; k++)
            UNROLL for (int y = 0; y < THREAD_ROWS; y++)
                UNROLL for (int n = 0; n < 4; n++)
                    made[k][y][n] = k + 1 < MASK_DEPTH ? made[k + 1][y][n] : 0.0f;
    }
}
