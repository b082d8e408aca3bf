// The MNIST report's second linear layer: a block an output, a thread an input, whose products meet
// in shared memory and are added by one thread (SERIAL 1) or in pairs (SERIAL 0).
//
// x[INPUTS], weights[INPUTS][OUTPUTS], bias[OUTPUTS], out[OUTPUTS]; INPUTS is a power of two.
// Grid: x the outputs.  Block: INPUTS threads.

__global__ void block_sum(const GLOBAL float* x, const GLOBAL float* weights,
                          const GLOBAL float* bias, GLOBAL float* out)
{
    __shared__ float products[INPUTS];
    int i = threadIdx.x, output = blockIdx.x;
    products[i] = x[i] * weights[i * OUTPUTS + output];
    __syncthreads();
#if SERIAL
    if (i > 0) return;
    float sum = bias[output];
    for (int k = 0; k < INPUTS; k++) sum += products[k];
    out[output] = sum;
#else
    for (int stride = INPUTS / 2; stride > 0; stride /= 2) {
        if (i < stride) products[i] += products[i + stride];
        __syncthreads();
    }
    if (i == 0) out[output] = products[0] + bias[output];
#endif
}
