// What stands around the product where the milestone report's streams keep the unrolled images: the
// images of a slice are unrolled before it, and its columns are put in their order after it.
//
// x[...][CHANNELS][SIZE][SIZE] and out[...][MAPS][PIXELS] are of the whole batch, of which a slice
// begins at image `first`; matrix[DEPTH][images * PIXELS], product[MAPS][images * PIXELS].

#define OUT_SIZE (SIZE - MASK + 1)
#define PIXELS (OUT_SIZE * OUT_SIZE)

// Grid: x the PIXELS, y CHANNELS, z the slice's images.
__global__ void unroll(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ matrix,
                       int first)
{
    int pixel = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y, n = blockIdx.z;
    if (pixel >= PIXELS) return;
    size_t columns = (size_t)gridDim.z * PIXELS, column = (size_t)n * PIXELS + pixel;
    const GLOBAL float* corner = x + ((size_t)(first + n) * CHANNELS + c) * SIZE * SIZE +
                                 pixel / OUT_SIZE * SIZE + pixel % OUT_SIZE;
    for (int p = 0; p < MASK; p++)
        for (int q = 0; q < MASK; q++)
            matrix[((c * MASK + p) * MASK + q) * columns + column] = corner[p * SIZE + q];
}

// Grid: x the PIXELS, y MAPS, z the slice's images.
__global__ void permute(const GLOBAL float* __restrict__ product, GLOBAL float* __restrict__ out,
                        int first)
{
    int pixel = blockIdx.x * blockDim.x + threadIdx.x, map = blockIdx.y, n = blockIdx.z;
    if (pixel >= PIXELS) return;
    size_t columns = (size_t)gridDim.z * PIXELS;
    out[((size_t)(first + n) * MAPS + map) * PIXELS + pixel] =
        product[map * columns + (size_t)n * PIXELS + pixel];
}
