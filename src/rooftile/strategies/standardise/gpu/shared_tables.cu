// shared_tables: one thread makes the numbers of four neighbouring pixels, of tables in shared memory;
// the last thread's are one by one.
//
// What it removes: of `naive` three accesses in four, and an access of global memory for each number.
//
// Grid: x over blocks of THREADS threads.

typedef unsigned char byte;

#define FIRST (4 * ((int64)blockIdx.x * THREADS + threadIdx.x))

// The table of a pixel's channel. Four pixels are in one channel where PLANE, the pixels of a
// channel, is a multiple of four; then all ask for the first one's.
#define CHANNEL(i) ((int)((i) / PLANE % TABLES) * 256)
#define TABLE(i, first) (TABLES == 1 ? 0 : PLANE % 4 ? CHANNEL(i) : CHANNEL(first))

// pixels uint8[count]; values[TABLES][256] -> x[count], the number of each pixel by the table of
// its channel, or by the only one. A table instead of a product: so its bits equal the host's
// preparation.
__global__ void shared_tables(const GLOBAL byte* __restrict__ pixels,
                              const GLOBAL float* __restrict__ values, GLOBAL float* __restrict__ x,
                              int64 count)
{
    __shared__ float table[TABLES * 256];
    for (int i = threadIdx.x; i < TABLES * 256; i += THREADS)
        table[i] = values[i];
    __syncthreads();
    int64 first = FIRST;
    if (first + 4 <= count) {
        unsigned four = *(const GLOBAL unsigned*)(pixels + first);
        *(GLOBAL float4*)(x + first) = make_float4(table[TABLE(first, first) + (four & 255)],
                                                   table[TABLE(first + 1, first) + (four >> 8 & 255)],
                                                   table[TABLE(first + 2, first) + (four >> 16 & 255)],
                                                   table[TABLE(first + 3, first) + (four >> 24)]);
        return;
    }
    for (int64 i = first; i < count; i++) x[i] = table[TABLE(i, i) + pixels[i]];
}
