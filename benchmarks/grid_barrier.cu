// A barrier of all blocks of a grid, made of an atomic counter.
//
// A block adds one and waits until as many have been added as there are blocks.  One that has not
// begun adds nothing: so all blocks must fit at a time, or those that run wait for ever.
//
// now[2][blocks], arrived[1], which is zero.
// Grid: x over blocks.

// `passed` counts the barriers before this one.
__device__ __forceinline__ void meet_all(unsigned* arrived, unsigned passed)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        // What the block has written is there before it is counted.
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned*)arrived < (passed + 1) * gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
}

// In each round a block takes the number of its neighbour.
__global__ void pass_on(volatile int* now, unsigned* arrived, int rounds)
{
    int blocks = gridDim.x;
    for (int round = 0; round < rounds; round++) {
        int from = round % 2 * blocks, to = blocks - from;
        if (threadIdx.x == 0) now[to + blockIdx.x] = now[from + (blockIdx.x + 1) % blocks];
        meet_all(arrived, round);
    }
}
