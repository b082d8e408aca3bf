// The cost of a dependent step, and of scattered reads.
//
// A chain in memory: each element holds the place of the next one, and all of them are one cycle in
// random order. So no read can begin before the former one has ended, and no prefetcher predicts
// it. One thread walks it. In CUDA an element of global memory is the next one's address, so that a
// step is a load and nothing else; in OpenCL, and in other memories, it counts bytes from the
// chain's beginning.
//
// CUDA counts a walk's cycles by the multiprocessor's own counter; OpenCL has none, and says 0.

#ifdef __OPENCL_VERSION__
#define TICKS() 0
#define GLOBAL_NEXT(at) (*(const GLOBAL int64*)((const GLOBAL char*)chain + (at)))
#else
#define TICKS() clock64()
// A pointer that is converted so is known to point to global memory: other loads take longer.
#define GLOBAL_NEXT(at) (*(const int64*)__cvta_global_to_generic(at))
#endif
#define SHARED_NEXT(at) (*(const SHARED unsigned*)((const SHARED char*)tile + (at)))
#define CONSTANT_NEXT(at) (*(const CONSTANT unsigned*)((const CONSTANT char*)held + (at)))

// Steps that are written out in a row; `steps` is a multiple of it.
#define ROUND 16
// `warm` steps, then `steps` whose cycles are counted.
#define WALK(next)                                             \
    ROLLED for (int step = 0; step < warm; step++)             \
        at = next(at);                                         \
    int64 start = TICKS();                                     \
    ROLLED for (int step = 0; step < steps; step += ROUND) {   \
        UNROLL for (int i = 0; i < ROUND; i++)                 \
            at = next(at);                                     \
    }                                                          \
    ticks[0] = TICKS() - start;                                \
    place[0] = at

CONSTANT_ARRAY(float, held, CONSTANTS)

// chain[any]; place[1]: where the walk begins, and afterwards where it ended; ticks[1].
__global__ void walk_global(const GLOBAL int64* chain, GLOBAL int64* place, GLOBAL int64* ticks,
                            int warm, int steps)
{
    int64 at = place[0];
    WALK(GLOBAL_NEXT);
}

// chain[count], which is brought to shared memory first; place[1]; ticks[1].
__global__ void walk_shared(const GLOBAL unsigned* chain, GLOBAL int64* place, GLOBAL int64* ticks,
                            int warm, int steps, int count SHARED_ARGUMENT(unsigned, tile))
{
    SHARED_ARRAY(unsigned, tile);
    ROLLED for (int i = 0; i < count; i++)
        tile[i] = chain[i];
    unsigned at = place[0];
    WALK(SHARED_NEXT);
}

// held[CONSTANTS]: the bits of the chain, in constant memory; place[1]; ticks[1].
__global__ void walk_constant(GLOBAL int64* place, GLOBAL int64* ticks, int warm,
                              int steps CONSTANT_ARGUMENT(float, held))
{
    unsigned at = place[0];
    WALK(CONSTANT_NEXT);
}

// x[3]: a start, a factor and a term; out[1]: the start after the multiply-adds; ticks[1].
__global__ void walk_registers(const GLOBAL float* x, GLOBAL float* out, GLOBAL int64* ticks,
                               int steps)
{
    float a = x[0], w = x[1], t = x[2];
    int64 start = TICKS();
    ROLLED for (int step = 0; step < steps; step += ROUND) {
        UNROLL for (int i = 0; i < ROUND; i++)
            a = a * w + t;
    }
    ticks[0] = TICKS() - start;
    out[0] = a;
}

// x[blocks * THREADS * LOADS * stride], of which every stride-th element is read; out[1] is
// written only where a sum is negative, which none is.
__global__ void read_strided(const GLOBAL float* __restrict__ x, GLOBAL float* out, int stride)
{
    int64 first = (int64)blockIdx.x * (THREADS * LOADS) + threadIdx.x;
    float values[LOADS], sum = 0.0f;
    UNROLL for (int i = 0; i < LOADS; i++)
        values[i] = x[(first + i * THREADS) * stride];
    UNROLL for (int i = 0; i < LOADS; i++)
        sum += values[i];
    if (sum < 0.0f)
        out[0] = sum;
}
