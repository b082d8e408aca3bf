// Memory traffic and nothing else: what bounds every kernel that moves its bytes once.
// LOADS float4 a thread lie a block apart, so that all of them are in flight at once.

// x[blocks * THREADS * LOADS] -> out, the same.
__global__ void copy_all(const GLOBAL float4* __restrict__ x, GLOBAL float4* __restrict__ out)
{
    int64 first = (int64)blockIdx.x * (THREADS * LOADS) + threadIdx.x;
    float4 values[LOADS];
    UNROLL for (int i = 0; i < LOADS; i++)
        values[i] = x[first + i * THREADS];
    UNROLL for (int i = 0; i < LOADS; i++)
        out[first + i * THREADS] = values[i];
}

// x[blocks * THREADS * LOADS]; out[1] is written only where a sum is negative, which none is.
__global__ void read_all(const GLOBAL float4* __restrict__ x, GLOBAL float* __restrict__ out)
{
    int64 first = (int64)blockIdx.x * (THREADS * LOADS) + threadIdx.x;
    float4 values[LOADS];
    float sum = 0.0f;
    UNROLL for (int i = 0; i < LOADS; i++)
        values[i] = x[first + i * THREADS];
    UNROLL for (int i = 0; i < LOADS; i++)
        sum += values[i].x + values[i].y + values[i].z + values[i].w;
    if (sum < 0.0f)
        out[0] = sum;
}
