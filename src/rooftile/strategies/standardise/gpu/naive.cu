// naive: one thread makes the number of one pixel.
//
// pixels uint8[count]; values[TABLES][256]; x[count], by the table of the pixel's channel, of PLANE
// pixels.  Grid: x over the pixels.

__global__ void naive(const GLOBAL unsigned char* __restrict__ pixels,
                      const GLOBAL float* __restrict__ values, GLOBAL float* __restrict__ x,
                      int64 count)
{
    int64 i = (int64)blockIdx.x * THREADS + threadIdx.x;
    if (i < count) x[i] = values[i / PLANE % TABLES * 256 + pixels[i]];
}
