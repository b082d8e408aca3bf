// vectors: a thread turns a square of SIDE x SIDE elements in its registers.
//
// In `padded` a thread moves single elements: of 16 bits a warp's load brings 64 bytes, of 8 bits
// 32. Here a thread loads SIDE vectors of SIDE neighbours, one of each row of its square, turns the
// square around, and puts the vectors of the result into shared memory, from where the block writes
// whole rows of its tile. What it removes: most instructions that access memory, narrow accesses to
// both memories, waiting with one load in flight.
//
// A row of shared memory has SQUARES_DOWN vectors.  The number of a vector in it is exclusive-ored
// with the number of the square that the row comes from: so neither the columns that are written nor
// the rows that are read share banks.
//
// Tiles follow each other down a band of TILES_DOWN of them, and then across. Loaded and stored
// lines leave the last-level cache before others.
//
// Rows and columns are multiples of SIDE, so that a square is inside or outside as a whole.
//
// x[batch][rows][columns], y[batch][columns][rows].
// Grid: x over tiles of a matrix, y over the batch.
// Block: x over SQUARES_ACROSS squares across, y over SQUARES_DOWN down, both powers of two from
// eight on.

#include "common/bytes.h"

#ifdef __CUDACC_RTC__
#define NEEDED_ONCE(from) __ldcs(from)
#define PUT_ONCE(to, vector) __stcs(to, vector)
#else
#define NEEDED_ONCE(from) (*(from))
#define PUT_ONCE(to, vector) (*(to) = (vector))
#endif

#define TILE_HEIGHT (SQUARES_DOWN * SIDE)
#define TILE_WIDTH (SQUARES_ACROSS * SIDE)
#define WORDS (SIDE * BYTES / 4)

// The index of the vector of the square `down` in a row of the square `across`.
#define MIXED(down, across) (((down) ^ (across)) % SQUARES_DOWN)

#if WORDS == 2
typedef uint2 vector;
#else
typedef uint4 vector;
#endif

// The square's columns from its rows, each WORDS words.
__device__ __forceinline__ void transpose(const unsigned* rows, unsigned* columns)
{
#if BYTES == 8
    UNROLL
    for (int c = 0; c < SIDE; c++)
        for (int r = 0; r < SIDE; r++) {
            columns[c * WORDS + 2 * r] = rows[r * WORDS + 2 * c];
            columns[c * WORDS + 2 * r + 1] = rows[r * WORDS + 2 * c + 1];
        }
#elif BYTES == 4
    UNROLL
    for (int c = 0; c < SIDE; c++)
        UNROLL
        for (int r = 0; r < SIDE; r++) columns[c * WORDS + r] = rows[r * WORDS + c];
#elif BYTES == 2
    UNROLL
    for (int c = 0; c < SIDE; c++)
        UNROLL
        for (int r = 0; r < SIDE; r += 2)
            columns[c * WORDS + r / 2] =
                picked(rows[r * WORDS + c / 2], rows[(r + 1) * WORDS + c / 2],
                       c % 2 ? 0x7632 : 0x5410);
#else
    UNROLL
    for (int c = 0; c < SIDE; c += 4)
        UNROLL
        for (int r = 0; r < SIDE; r += 4) {
            // Bytes of two rows alternate, first the word's lower half.
            const unsigned* word = rows + r * WORDS + c / 4;
            unsigned upper_low = picked(word[0], word[WORDS], 0x5140);
            unsigned lower_low = picked(word[2 * WORDS], word[3 * WORDS], 0x5140);
            unsigned upper_high = picked(word[0], word[WORDS], 0x7362);
            unsigned lower_high = picked(word[2 * WORDS], word[3 * WORDS], 0x7362);
            unsigned* made = columns + c * WORDS + r / 4;
            made[0] = picked(upper_low, lower_low, 0x5410);
            made[WORDS] = picked(upper_low, lower_low, 0x7632);
            made[2 * WORDS] = picked(upper_high, lower_high, 0x5410);
            made[3 * WORDS] = picked(upper_high, lower_high, 0x7632);
        }
#endif
}

__global__ void LAUNCH_BOUNDS(SQUARES_DOWN * SQUARES_ACROSS)
vectors(const GLOBAL vector* __restrict__ x, GLOBAL vector* __restrict__ y, int64 batch,
        int64 rows, int64 columns)
{
    __shared__ vector exchanged[TILE_WIDTH * SQUARES_DOWN];
    int tiles_across = (columns + TILE_WIDTH - 1) / TILE_WIDTH;
    int tiles_down = (rows + TILE_HEIGHT - 1) / TILE_HEIGHT;
    int in_band = (TILES_DOWN < tiles_down ? TILES_DOWN : tiles_down) * tiles_across;
    int place = blockIdx.x % in_band, first = blockIdx.x / in_band * TILES_DOWN;
    int high = tiles_down - first < TILES_DOWN ? tiles_down - first : TILES_DOWN;
    int64 top = (int64)(first + place % high) * TILE_HEIGHT;
    int64 left = (int64)(place / high) * TILE_WIDTH;
    int across = threadIdx.x, down = threadIdx.y, thread = down * SQUARES_ACROSS + across;
    int across_out = thread % SQUARES_DOWN, down_out = thread / SQUARES_DOWN;
    // Both arrays in vectors.
    int64 row = top + down * SIDE, column = left / SIDE + across, pitch = columns / SIDE;
    int64 row_out = left + down_out * SIDE, column_out = top / SIDE + across_out;
    int64 pitch_out = rows / SIDE;

    for (int64 b = blockIdx.y; b < batch; b += gridDim.y) {
        if (row < rows && column < pitch) {
            vector loaded[SIDE];
            unsigned given[SIDE * WORDS], made[SIDE * WORDS];
            UNROLL
            for (int k = 0; k < SIDE; k++)
                loaded[k] = NEEDED_ONCE(x + (b * rows + row + k) * pitch + column);
            UNROLL
            for (int k = 0; k < SIDE; k++) {
                given[k * WORDS] = loaded[k].x;
                given[k * WORDS + 1] = loaded[k].y;
#if WORDS == 4
                given[k * WORDS + 2] = loaded[k].z;
                given[k * WORDS + 3] = loaded[k].w;
#endif
            }
            transpose(given, made);
            UNROLL
            for (int k = 0; k < SIDE; k++) {
                vector one;
                one.x = made[k * WORDS];
                one.y = made[k * WORDS + 1];
#if WORDS == 4
                one.z = made[k * WORDS + 2];
                one.w = made[k * WORDS + 3];
#endif
                exchanged[(across * SIDE + k) * SQUARES_DOWN + MIXED(down, across)] = one;
            }
        }
        __syncthreads();
        if (row_out < columns && column_out < pitch_out) {
            UNROLL
            for (int k = 0; k < SIDE; k++)
                PUT_ONCE(y + (b * columns + row_out + k) * pitch_out + column_out,
                         exchanged[(down_out * SIDE + k) * SQUARES_DOWN +
                                   MIXED(across_out, down_out)]);
        }
        __syncthreads();
    }
}
