// The milestone report's convolution: a product of matrices whose second one, the unrolled image,
// exists only as tiles; its options are macros.
//
// TILE is the width of the tiles, RESTRICTED whether pointers are, MASK_CONSTANT whether the weights
// lie in constant memory, whose addresses differ within a warp here, UNROLLED whether the inner loop
// is written out by 16.
//
// x[images][CHANNELS][SIZE][SIZE], weights[MAPS][CHANNELS][MASK][MASK], out[images][MAPS][PIXELS].
// Grid: x tiles of PIXELS, y tiles of MAPS, z images.  Block: TILE x TILE.

#define OUT_SIZE (SIZE - MASK + 1)
#define PIXELS (OUT_SIZE * OUT_SIZE)
#define DEPTH (CHANNELS * MASK * MASK)

#if RESTRICTED
#define ALONE __restrict__
#else
#define ALONE
#endif
#if UNROLLED
#define INNER UNROLL_BY(16)
#else
#define INNER ROLLED
#endif
#if MASK_CONSTANT
CONSTANT_ARRAY(float, mask, MAPS * DEPTH)
#define MASK_ARGUMENT CONSTANT_ARGUMENT(float, mask)
#define WEIGHT(at) mask[at]
#else
#define MASK_ARGUMENT
#define WEIGHT(at) weights[at]
#endif

__global__ void fused_product(const GLOBAL float* ALONE x, const GLOBAL float* ALONE weights,
                              GLOBAL float* ALONE out MASK_ARGUMENT)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int map = blockIdx.y * TILE + ty, pixel = blockIdx.x * TILE + tx;
    const GLOBAL float* image = x + (size_t)blockIdx.z * CHANNELS * SIZE * SIZE;
    float sum = 0.0f;
    for (int first = 0; first < DEPTH; first += TILE) {
        left[ty][tx] = map < MAPS && first + tx < DEPTH ? WEIGHT(map * DEPTH + first + tx) : 0.0f;
        int k = first + ty, c = k / (MASK * MASK), p = k / MASK % MASK, q = k % MASK;
        int row = pixel / OUT_SIZE + p, column = pixel % OUT_SIZE + q;
        right[ty][tx] =
            k < DEPTH && pixel < PIXELS ? image[(c * SIZE + row) * SIZE + column] : 0.0f;
        __syncthreads();
        INNER for (int i = 0; i < TILE; i++) sum += left[ty][i] * right[i][tx];
        __syncthreads();
    }
    if (map < MAPS && pixel < PIXELS)
        out[((size_t)blockIdx.z * MAPS + map) * PIXELS + pixel] = sum;
}
