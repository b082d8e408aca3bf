// Rungs 14 to 17, warpgroups: the matrix product on Hopper's warpgroups and bulk copy engine.
//
// WARPGROUPS warpgroups multiply 64 images each by a block's TILE_O outputs.  One thread more keeps a
// ring of stages full: a slice of x as it lies in memory, 128 bytes of every image, and that slice's
// weights, which a first kernel has laid as the cores read them.  A warpgroup takes its images to
// registers by 16-byte loads without bank conflicts and makes them the cores' type there (CORES: 0
// float16, 1 bfloat16, 2 TF32), once for all outputs; it reads the weights from shared memory.
// Which input is which of an instruction's is free as long as both sides agree: a lane takes
// neighbours, and the weights are laid so.  CLUSTER blocks of the same images bring a share of them
// each, to all.  Blocks stay and take tile after tile; the images beyond `whole`, which would leave
// most multiprocessors idle, share their inputs out to PARTS blocks, and `finish` adds their sums.
// What it removes: instructions that load and issue, half the reads of x, the last half-empty round.
//
// With NUMBERS 2, each float is x = hi + lo in TF32, and three products make one.  Cores cut sums
// off: a slice's is short, and added to the total in float32.  What the split cannot hold becomes
// NaN, and results that are not finite are computed from their definition.
//
// x[images][INPUTS] in float or, with X_NARROW, in the cores' own type; weights[OUTPUTS][INPUTS];
// rounded[output tiles][SLICES][NUMBERS][STEPS][2][TILE_O / 8][8] pieces of 16 bytes in the cores'
// type, zeros around the weights; bias[OUTPUTS]; out[images][OUTPUTS] in float or, with OUT_NARROW,
// in the cores' own type; with several parts partial[PARTS][images beyond `whole`][OUTPUTS] between
// the kernels.
// Grid: clusters along x.  Block: the warpgroup that copies, then WARPGROUPS that multiply.

#define THREADS (128 * (WARPGROUPS + 1))
#define PART_SLICES ((SLICES + PARTS - 1) / PARTS)
#define GROUPS (PADDED_OUTPUTS / (TILE_O * CLUSTER))
#define BOX_ROWS (ROWS / BOXES)

// What a cluster's blocks do at a time: a tile each of the same images, or a part of its inputs.
struct work { int64 image; int output, part, slice, end; };

__device__ __forceinline__ int rank_in_cluster()
{
    return CLUSTER == 1 ? 0 : blockIdx.x % CLUSTER;
}

// The work of a number; `whole` tiles' rows of images come first.
__device__ __forceinline__ struct work work_of(int number, int whole)
{
    struct work work;
    int row = number / GROUPS;
    work.output = (number % GROUPS * CLUSTER + rank_in_cluster()) * TILE_O;
    work.part = -1, work.slice = 0, work.end = SLICES;
    if (PARTS > 1 && row >= whole) {
        work.part = (row - whole) % PARTS, row = whole + (row - whole) / PARTS;
        work.slice = work.part * PART_SLICES, work.end = min(SLICES, work.slice + PART_SLICES);
    }
    work.image = (int64)row * ROWS;
    return work;
}

// Start the copies of a slice that are this block's: its share of x, to all, and its weights.
__device__ __forceinline__ void start_slice(const tensor_map* x, const char* weights, unsigned stage,
                                            unsigned full, int slice, int image)
{
    UNROLL for (int b = 0; b < BOXES / CLUSTER; b++) {
        int row = (rank_in_cluster() * (BOXES / CLUSTER) + b) * BOX_ROWS;
#if CLUSTER > 1
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                     ".mbarrier::complete_tx::bytes.multicast::cluster"
                     " [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(stage + row * 128),
                     "l"(x), "r"(slice * SLICE), "r"(image + row), "r"(full),
                     "h"((narrow)((1 << CLUSTER) - 1))
                     : "memory");
#else
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile"
                     ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                         stage + row * 128),
                     "l"(x), "r"(slice * SLICE), "r"(image + row), "r"(full)
                     : "memory");
#endif
    }
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];" ::"r"(stage + ROWS * 128),
                 "l"(weights + (size_t)slice * NUMBERS * PLANE_BYTES),
                 "r"(NUMBERS * PLANE_BYTES), "r"(full)
                 : "memory");
}

// One thread's work: every slice of the block's tiles, into the next stage that is free.
__device__ __forceinline__ void fetch(const tensor_map* x, const element* rounded, unsigned stages,
                                      unsigned barriers, int whole, int works)
{
    struct turn turn = {0, 0};
    for (int number = blockIdx.x / CLUSTER; number < works; number += gridDim.x / CLUSTER) {
        struct work work = work_of(number, whole);
        const char* weights = (const char*)rounded +
                              (size_t)(work.output / TILE_O) * SLICES * NUMBERS * PLANE_BYTES;
        _Pragma("unroll 1") for (int s = work.slice; s < work.end; s++, advance(&turn, STAGES)) {
            unsigned full = FULL(barriers, turn.at);
            wait(EMPTY(barriers, turn.at, STAGES), turn.round ^ 1);
            expect_bytes(STAGE_BYTES, full);
            start_slice(x, weights, stages + turn.at * STAGE_BYTES, full, s, work.image);
        }
    }
}

// A warp is done with a stage: said to all blocks that copy to it, unless it has been said.
__device__ __forceinline__ void leave(unsigned* barrier)
{
#if CLUSTER > 1
    int lane = threadIdx.x % 32;
    if (*barrier && lane < CLUSTER)
        asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
                     "mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(*barrier),
                     "r"(lane)
                     : "memory");
    *barrier = 0;
#else
    release(barrier);
#endif
}

// Four words of a row, of a piece; floats that become elements of 16 bits are two.
__device__ __forceinline__ void load_row(unsigned place, unsigned held[NUMBERS][STEPS])
{
    unsigned words[4];
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(place)
                 : "memory");
    UNROLL for (int e = 0; e < STEPS; e++) {
#if X_NARROW
        held[0][e] = words[e];
#elif CORES < 2
        held[0][e] = pack(__uint_as_float(words[2 * e]), __uint_as_float(words[2 * e + 1]));
#elif NUMBERS == 2
        split(__uint_as_float(words[e]), &held[0][e], &held[1][e]);
#else
        held[0][e] = tf32(__uint_as_float(words[e]));
#endif
    }
}

// 8x8 matrices of the weights' pieces: the next outputs 128 bytes on, the next inputs a half on.  An
// address in a cluster begins with the block's rank.
__device__ __forceinline__ word weights_at(unsigned address)
{
    return (word)((address & 0x3ffff) >> 4) | (word)TILE_O << 16 | (word)8 << 32;
}

// Adds a piece's products to the sums; split, all three, the small ones first, and with !more they
// start the sums.
__device__ __forceinline__ void multiply(float sum[TILE_O / 2], unsigned above[NUMBERS][STEPS],
                                         unsigned below[NUMBERS][STEPS], unsigned weights,
                                         bool more)
{
    UNROLL for (int product = NUMBERS == 2 ? 0 : 2; product < 3; product++) {
        // hi times lo, lo times hi, hi times hi
        word b = weights_at(weights + (product == 0) * PLANE_BYTES);
        const unsigned *top = above[product == 1], *bottom = below[product == 1];
        UNROLL for (int s = 0; s < STEPS / 2; s++)
            WGMMA(sum, top[2 * s], bottom[2 * s], top[2 * s + 1], bottom[2 * s + 1],
                  b + s * 2 * TILE_O, more || s > 0 || (NUMBERS == 2 && product > 0));
    }
}

// A warpgroup's sums of a tile, over its slices.  HELD pieces of images are in registers: products
// of one are on their way while the next is made.
__device__ __forceinline__ void accumulate(float total[TILE_O / 2], struct work work,
                                           unsigned stages, unsigned barriers, struct turn* turn)
{
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 - 64 + lane / 4;
    // Rows eight apart are swizzled alike, and the next piece is the other 16 bytes of 32.
    unsigned place = row * 128 + ((lane % 4 * 2) ^ (row % 8)) * 16, taken = 0;
    unsigned above[HELD][NUMBERS][STEPS], below[HELD][NUMBERS][STEPS];
#if NUMBERS == 2
    float sum[TILE_O / 2];
    UNROLL for (int e = 0; e < TILE_O / 2; e++) sum[e] = 0.0f;
#else
    float* sum = total;
#endif
    UNROLL for (int e = 0; e < TILE_O / 2; e++) total[e] = 0.0f;
    _Pragma("unroll 1") for (int s = work.slice; s < work.end; s++, advance(turn, STAGES)) {
        wait(FULL(barriers, turn->at), turn->round);
        unsigned stage = stages + turn->at * STAGE_BYTES;
        UNROLL for (int piece = 0; piece < 2; piece++) {
            const int at = piece % HELD;
            // The products that read these registers are done; before the last piece's, a stage.
            IN_FLIGHT(HELD - 1);
            if (piece == HELD - 1) leave(&taken);
            load_row(stage + (place ^ piece * 16), above[at]);
            load_row(stage + (place ^ piece * 16) + 1024, below[at]);
#if NUMBERS == 2
            if (piece == 0) {
                IN_FLIGHT(0);
                UNROLL for (int e = 0; e < TILE_O / 2; e++) total[e] += sum[e];
            }
#endif
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            multiply(sum, above[at], below[at],
                     stage + ROWS * 128 + piece * (STEPS / 2) * 32 * TILE_O,
                     NUMBERS == 1 || piece > 0);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        }
        taken = EMPTY(barriers, turn->at, STAGES);
    }
    IN_FLIGHT(0);
    leave(&taken);
#if NUMBERS == 2
    UNROLL for (int e = 0; e < TILE_O / 2; e++) total[e] += sum[e];
#endif
}

__device__ __forceinline__ void meet_cluster()
{
#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}

#if CLUSTER > 1
__cluster_dims__(CLUSTER, 1, 1)
#endif
__global__ __launch_bounds__(THREADS, BLOCKS) void linear(
    const __grid_constant__ tensor_map rows, const given* __restrict__ x,
    const float* __restrict__ weights, const element* __restrict__ rounded,
    const float* __restrict__ bias, result* out, float* partial, int images, int whole, int works)
{
    extern __shared__ __align__(1024) char shared[];
    unsigned stages = (unsigned)__cvta_generic_to_shared(shared);
    unsigned barriers = stages + STAGES * STAGE_BYTES;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            expect(1, FULL(barriers, s));
            expect(4 * WARPGROUPS * CLUSTER, EMPTY(barriers, s, STAGES));
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    meet_cluster();
    if (threadIdx.x < 128) {
#if CONSUMER_REGISTERS
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
#endif
        if (threadIdx.x == 0) fetch(&rows, rounded, stages, barriers, whole, works);
    } else {
#if CONSUMER_REGISTERS
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
#endif
        struct turn turn = {0, 0};
        int row = threadIdx.x / 32 * 16 - 64 + threadIdx.x % 32 / 4;
        for (int number = blockIdx.x / CLUSTER; number < works; number += gridDim.x / CLUSTER) {
            struct work work = work_of(number, whole);
            float sum[TILE_O / 2];
            accumulate(sum, work, stages, barriers, &turn);
            int64 first = work.image + row;
            int output = work.output + threadIdx.x % 4 * 2;
#if PARTS > 1
            if (work.part >= 0) {
                int64 before = (int64)whole * ROWS, rest = images - before;
                store_part(sum, partial + work.part * rest * OUTPUTS, first - before, rest, output);
                continue;
            }
#endif
            store_tile(sum, bias, out, first, images, output);
#if NUMBERS == 2
            bool finite = true;
            UNROLL for (int e = 0; e < TILE_O / 2; e++) finite = finite && fabsf(sum[e]) < INFINITY;
            if (!finite) repair(x, weights, bias, out, first, images, output);
            __syncwarp();
#endif
        }
    }
    // No block ends while another may still tell it of a stage.
    meet_cluster();
}
