// mma: sums of windows as products with banded matrices, on tensor cores.
//
// In `packed` a byte costs some eight instructions on integers, a thread has one row in flight, and
// each band sums up the rows above it again. Here sixteen rows of a strip are multiplied with a
// band of ones, which sums up the columns of windows, and the sums with another, which adds the
// rows: a square of 16 x 16 windows is six instructions of a warp, exactly, on bytes. Sums of
// columns have more than eight bits, so their lower and upper bytes are multiplied separately. The
// rows that two squares below each other share stay in registers, as sums of columns. What it
// removes: most instructions, and waiting, as copies to shared memory run STAGES - 1 squares ahead.
//
// Which term is which of an instruction's is free as long as both sides agree.  So the sums of a
// lane are the terms that it needs next, and of each row of results it has four neighbours.
//
// Quotients are as in `packed`; where windows are clipped, the scale is their pixels'.
//
// image[height][width][CHANNELS], blurred[height][width][CHANNELS].
// Grid: x over blocks of WARPS strips of WARP_BYTES bytes of a row, y over bands of ROWS rows.
// Block: x over WARPS warps.

#include "common/bytes.h"

#define REACH (RADIUS * CHANNELS)
#define SIDE (2 * RADIUS + 1)
#define WARP_BYTES (16 * TILES)
// Bytes of a stage's row: of both neighbours 16, and 16 more, so that rows lie in banks of their own.
#define PITCH (WARP_BYTES + 48)
#define STAGE_BYTES (16 * PITCH)
#define PIECES (TILES + 2)

// Starts to copy a lane's share of sixteen rows of a strip, with zeros outside and where it is not
// wanted: two lanes bring a row, the outermost pieces, then pairs. `from` is the row's byte `at`;
// of no bytes, nothing is read.
__device__ __forceinline__ void bring_rows(unsigned stage, const unsigned char* from, bool wanted,
                                           int at, int columns)
{
    int lane = threadIdx.x % 32, line = lane / 2 * PITCH;
    UNROLL for (int v = 0; v < PIECES / 2; v++) {
        int piece = v > 0 ? 2 * v - 1 + lane % 2 : lane % 2 * (PIECES - 1);
        int column = at + 16 * (piece - 1);
        bool inside = wanted && column >= 0 && column < columns;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(stage + line + 16 * piece),
                     "l"(from + 16 * (piece - 1)), "r"(inside ? 16 : 0)
                     : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// sum += a b, of bytes: 16 rows of a, 8 columns of b, 32 terms.
__device__ __forceinline__ void multiply_add(int sum[4], const unsigned a[4], unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The left matrix that adds columns: its row m is a column of the tile, its terms are the 32 bytes
// around the tile's 16.
__device__ __forceinline__ void make_columns(unsigned made[4])
{
    int lane = threadIdx.x % 32;
    UNROLL for (int r = 0; r < 4; r++) {
        int n = lane / 4, column = n / 2 * 4 + r % 2 * 2 + n % 2;
        made[r] = 0;
        UNROLL for (int byte = 0; byte < 4; byte++) {
            int far = lane % 4 * 4 + r / 2 * 16 + byte - 8 - column;
            if (far >= -REACH && far <= REACH && far % CHANNELS == 0) made[r] |= 1u << 8 * byte;
        }
    }
}

// The left matrix that adds rows: its row m is the eighth and m-th of 32, in the order in which lanes
// have their sums.
__device__ __forceinline__ void make_rows(unsigned made[4])
{
    int lane = threadIdx.x % 32;
    UNROLL for (int r = 0; r < 4; r++) {
        made[r] = 0;
        UNROLL for (int byte = 0; byte < 4; byte++) {
            int row = r / 2 * 16 + byte / 2 * 8 + lane % 4 * 2 + byte % 2;
            int far = row - 8 - lane / 4 - r % 2 * 8;
            if (far >= -RADIUS && far <= RADIUS) made[r] |= 1u << 8 * byte;
        }
    }
}

// Number of the indices around one that are inside; none around one outside.
__device__ __forceinline__ int clipped(int at, int size)
{
    int first = at < RADIUS ? 0 : at - RADIUS;
    int last = at + RADIUS < size ? at + RADIUS : size - 1;
    return (unsigned)at < (unsigned)size ? last - first + 1 : 0;
}

// The factor of sums in place of the division by rows times columns, in that order.
#define SCALES ((SIDE + 1) * (SIDE + 1))
__device__ __forceinline__ void make_scales(unsigned* scales)
{
    for (int e = threadIdx.x; e < SCALES; e += 32 * WARPS) {
        unsigned pixels = e / (SIDE + 1) * (e % (SIDE + 1));
        scales[e] = pixels ? ((1 << 24) + pixels - 1) / pixels : 0;
    }
    __syncthreads();
}

// The highest bytes of four products.
__device__ __forceinline__ unsigned highest(const unsigned products[4])
{
    return picked(picked(products[0], products[1], 0x0073), picked(products[2], products[3], 0x0073),
                  0x5410);
}

// Four quotients: by a scale, or each by its own from column `at` on.
__device__ __forceinline__ unsigned divided(const unsigned sums[4], unsigned scale)
{
    unsigned products[4];
    UNROLL for (int k = 0; k < 4; k++) products[k] = sums[k] * scale;
    return highest(products);
}
__device__ __forceinline__ unsigned divided_at_edges(const unsigned sums[4], const unsigned* scales,
                                                     int at, int width)
{
    unsigned products[4];
    UNROLL for (int k = 0; k < 4; k++)
        products[k] = sums[k] * scales[clipped((at + k) / CHANNELS, width)];
    return highest(products);
}

// A tile's sums of columns in sixteen rows, four rows' bytes in a word: the lower bytes of columns
// of both halves, then the upper ones.  `near` holds what the tile before has read of the bytes.
__device__ __forceinline__ void add_columns(const unsigned char* rows, const unsigned ones[4],
                                            unsigned near[2], unsigned made[4])
{
    int sums[2][4];
    UNROLL for (int half = 0; half < 2; half++) {
        unsigned next = *(const unsigned*)(rows + half * 8 * PITCH + 16);
        UNROLL for (int e = 0; e < 4; e++) sums[half][e] = 0;
        multiply_add(sums[half], ones, near[half], next);
        near[half] = next;
    }
    UNROLL for (int t = 0; t < 2; t++) {
        unsigned upper = picked(sums[0][2 * t], sums[0][2 * t + 1], 0x5410);
        unsigned lower = picked(sums[1][2 * t], sums[1][2 * t + 1], 0x5410);
        made[t] = picked(upper, lower, 0x6420);
        made[2 + t] = picked(upper, lower, 0x7531);
    }
}

// The sums of a tile's windows: of each of a lane's two rows, four neighbours.
__device__ __forceinline__ void add_rows(const unsigned above[4], const unsigned here[4],
                                         const unsigned ones[4], unsigned made[2][4])
{
    UNROLL for (int t = 0; t < 2; t++) {
        int low[4] = {0, 0, 0, 0}, high[4] = {0, 0, 0, 0};
        multiply_add(low, ones, above[t], here[t]);
        multiply_add(high, ones, above[2 + t], here[2 + t]);
        UNROLL for (int e = 0; e < 4; e++)
            made[e / 2][2 * t + e % 2] = low[e] + 256 * high[e];
    }
}

// Stores sixteen rows of a strip, which have taken the place of what they were made of.
__device__ __forceinline__ void store_rows(const unsigned char* stage, unsigned char* blurred, int top,
                                           int at, int height, int columns)
{
    UNROLL for (int v = 0; v < TILES / 2; v++) {
        int piece = v * 32 + threadIdx.x % 32, line = piece / TILES, beside = piece % TILES * 16;
        if (top + line < height && at + beside < columns)
            *(uint4*)(blurred + (int64)(top + line) * columns + at + beside) =
                *(const uint4*)(stage + line * PITCH + beside);
    }
}

// From Blackwell on, products of bytes take more registers than as many warps would leave.
#if __CUDA_ARCH__ >= 1000
#define RESIDENT_BLOCKS 1
#else
#define RESIDENT_BLOCKS (RESIDENT_WARPS / WARPS)
#endif

__global__ __launch_bounds__(32 * WARPS, RESIDENT_BLOCKS) void
mma(const unsigned char* __restrict__ image, unsigned char* __restrict__ blurred, int height, int width)
{
    extern __shared__ __align__(16) char shared[];
    __shared__ unsigned scales[SCALES];
    make_scales(scales);
    int columns = width * CHANNELS, top = blockIdx.y * ROWS, lane = threadIdx.x % 32;
    int warp = threadIdx.x / 32, at = (blockIdx.x * WARPS + warp) * WARP_BYTES;
    if (at >= columns) return;
    unsigned char* stages = (unsigned char*)shared + warp * STAGES * STAGE_BYTES;
    unsigned place = (unsigned)__cvta_generic_to_shared(stages);
    unsigned add_beside[4], add_below[4], above[TILES][4];
    make_columns(add_beside);
    make_rows(add_below);
    UNROLL for (int i = 0; i < TILES; i++)
        UNROLL for (int e = 0; e < 4; e++) above[i][e] = 0;
    int coming = top - 8 + lane / 2;
    const unsigned char* from = image + (int64)coming * columns + at;
    UNROLL for (int s = 0; s < STAGES - 1; s++, coming += 16, from += 16 * (int64)columns)
        bring_rows(place + s * STAGE_BYTES, from, (unsigned)coming < (unsigned)height, at, columns);

    int steps = (min(ROWS, height - top) + 15) / 16, first = top - 16;
    ROLLED for (int s = 0; s <= steps; s++, first += 16, coming += 16, from += 16 * (int64)columns) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncwarp();
        unsigned behind = place + (s + STAGES - 1) % STAGES * STAGE_BYTES;
        bool wanted = s + STAGES - 1 <= steps && (unsigned)coming < (unsigned)height;
        bring_rows(behind, from, wanted, at, columns);

        unsigned char* stage = stages + s % STAGES * STAGE_BYTES + lane / 4 * PITCH + lane % 4 * 4;
        const unsigned* of_rows[2];
        UNROLL for (int r = 0; r < 2; r++)
            of_rows[r] = scales + clipped(first + lane / 4 + 8 * r, height) * (SIDE + 1);
        unsigned whole[2] = {of_rows[0][SIDE], of_rows[1][SIDE]};
        unsigned near[2] = {*(const unsigned*)(stage + 8), *(const unsigned*)(stage + 8 + 8 * PITCH)};
        UNROLL for (int i = 0; i < TILES; i++) {
            unsigned here[4], sums[2][4], made[2];
            int column = at + 16 * i;
            bool is_whole = column >= REACH && column + 15 + REACH < columns;
            add_columns(stage + 16 * i + 8, add_beside, near, here);
            add_rows(above[i], here, add_below, sums);
            if (is_whole) {
                UNROLL for (int r = 0; r < 2; r++) made[r] = divided(sums[r], whole[r]);
            } else {
                int from_column = column + lane % 4 * 4;
                UNROLL for (int r = 0; r < 2; r++)
                    made[r] = divided_at_edges(sums[r], of_rows[r], from_column, width);
            }
            __syncwarp();
            // Results take the place of bytes that no tile needs any more.
            UNROLL for (int r = 0; r < 2; r++)
                *(unsigned*)(stage + 8 * r * PITCH + 16 * i) = made[r];
            UNROLL for (int e = 0; e < 4; e++) above[i][e] = here[e];
        }
        __syncwarp();
        if (s > 0)
            store_rows(stages + s % STAGES * STAGE_BYTES, blurred, first, at, height, columns);
    }
}
