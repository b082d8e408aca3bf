// Warp-wide matrix instructions (mma.sync, float32 sums) and nothing else; CUDA only.
// A and B stay in registers, TILES independent sums a warp hide the latency.

// d[16x8] += A[16x16] B[16x8], two 16-bit values a register, or A[16x8] B[8x8] in TF32.
#if PRECISION_TF32
#define MMA(d, a, b) \
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 " \
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#elif PRECISION_BF16
#define MMA(d, a, b) \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " \
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#else
#define MMA(d, a, b) \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " \
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#endif

// x[1024]: bits of values that are not zero, which would draw less power; out[blocks * threads].
__global__ void mma_tiles(const unsigned* __restrict__ x, float* __restrict__ out)
{
    unsigned a[4], b[2];
    float d[TILES][4], sum = 0.0f;
    for (int i = 0; i < 4; i++)
        a[i] = x[(threadIdx.x * 6 + i) % 1024];
    for (int i = 0; i < 2; i++)
        b[i] = x[(threadIdx.x * 6 + 4 + i) % 1024];
    UNROLL
    for (int tile = 0; tile < TILES; tile++)
        for (int i = 0; i < 4; i++)
            d[tile][i] = 0.0f;
    for (int step = 0; step < STEPS; step++) {
        UNROLL
        for (int tile = 0; tile < TILES; tile++)
            MMA(d[tile], a, b);
    }
    UNROLL
    for (int tile = 0; tile < TILES; tile++)
        sum += d[tile][0] + d[tile][1] + d[tile][2] + d[tile][3];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
