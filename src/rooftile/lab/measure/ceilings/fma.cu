// Fused multiply-adds and nothing else: CHAINS independent ones a thread hide the latency.

// x[CHAINS + 2]: a start for each chain, the factor and the term; out[blocks * threads].
__global__ void fma_chains(const GLOBAL float* __restrict__ x, GLOBAL float* __restrict__ out)
{
    float a[CHAINS], w = x[CHAINS], t = x[CHAINS + 1], sum = 0.0f;
    UNROLL for (int i = 0; i < CHAINS; i++)
        a[i] = x[i] + threadIdx.x;
    for (int step = 0; step < STEPS; step += 16) {
        UNROLL for (int k = 0; k < 16; k++) {
            UNROLL for (int i = 0; i < CHAINS; i++)
                a[i] = a[i] * w + t;
        }
    }
    UNROLL for (int i = 0; i < CHAINS; i++)
        sum += a[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Starts and ends: what a launch costs by itself.
__global__ void nothing(GLOBAL float* out)
{
}
