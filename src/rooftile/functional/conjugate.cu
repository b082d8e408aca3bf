// The steps of conjugate gradients between two products of a matrix with a vector.
//
// Every sum is left as one partial sum a block, in `sums[BLOCKS]`; whoever needs it adds them up in
// their order, in each block anew.  So no kernel waits for the host or for a last block, and every run
// gives the same bits.  What a step needs of the step before, and what it leaves, lie in two sets,
// which change places from step to step.
//
// When the residual's norm has come to the goal, or the curvature says that the matrix is not
// positive definite, further steps change nothing: a graph may hold more of them than there are.
//
// x, r, p, q, b, inverse[size] of VALUE; state[3] of double: the square of the residual's norm, the
// curvature of a step that failed (else 1), and the number of steps.  goal[1]: the square to reach.
// Grid: x over BLOCKS blocks.  Block: x over THREADS (a power of two) threads.

#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#if WEIGHED
#define WEIGHTED(r, i) ((r) * inverse[i])
#else
#define WEIGHTED(r, i) (r)
#endif

#define FOR_EACH_OWN(i)                                                                              \
    for (int64 i = (int64)blockIdx.x * THREADS + threadIdx.x; i < size; i += (int64)BLOCKS * THREADS)

// The sum of all threads' numbers, in each thread.
__device__ __forceinline__ double of_block(SHARED double* parts, double own)
{
    int thread = threadIdx.x;
    __syncthreads();
    parts[thread] = own;
    for (int reach = THREADS / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (thread < reach) parts[thread] += parts[thread + reach];
    }
    __syncthreads();
    return parts[0];
}

// What the blocks' partial sums come to.
__device__ __forceinline__ double total_of(SHARED double* parts, const GLOBAL double* sums)
{
    double own = 0;
    for (int i = threadIdx.x; i < BLOCKS; i += THREADS) own += sums[i];
    return of_block(parts, own);
}

// The residual of a start, and the first direction.
__global__ void LAUNCH_BOUNDS(THREADS)
begin(const GLOBAL VALUE* b, const GLOBAL VALUE* q, const GLOBAL VALUE* inverse, GLOBAL VALUE* r,
      GLOBAL VALUE* p, GLOBAL double* weighed, GLOBAL double* norms, int64 size)
{
    __shared__ double parts[THREADS];
    double along = 0, norm = 0;
    FOR_EACH_OWN(i)
    {
        VALUE left = b[i] - q[i], z = WEIGHTED(left, i);
        r[i] = left;
        p[i] = z;
        along += (double)left * z;
        norm += (double)left * left;
    }
    along = of_block(parts, along);
    norm = of_block(parts, norm);
    if (threadIdx.x == 0) {
        weighed[blockIdx.x] = along;
        norms[blockIdx.x] = norm;
    }
}

// p^T q, with q = A p.
__global__ void LAUNCH_BOUNDS(THREADS)
curve(const GLOBAL VALUE* p, const GLOBAL VALUE* q, const GLOBAL double* norms, GLOBAL double* curves,
      const GLOBAL double* goal, int64 size)
{
    __shared__ double parts[THREADS];
    if (!(total_of(parts, norms) > goal[0])) return;
    double along = 0;
    FOR_EACH_OWN(i) along += (double)p[i] * q[i];
    along = of_block(parts, along);
    if (threadIdx.x == 0) curves[blockIdx.x] = along;
}

// x moves along p.
__global__ void LAUNCH_BOUNDS(THREADS)
advance(GLOBAL VALUE* x, GLOBAL VALUE* r, const GLOBAL VALUE* p, const GLOBAL VALUE* q,
        const GLOBAL VALUE* inverse, const GLOBAL double* weighed, const GLOBAL double* norms,
        const GLOBAL double* curves, GLOBAL double* new_weighed, GLOBAL double* new_norms,
        GLOBAL double* state, const GLOBAL double* goal, int64 size)
{
    __shared__ double parts[THREADS];
    bool first = threadIdx.x == 0;
    if (!(total_of(parts, norms) > goal[0])) {
        if (first) {
            new_weighed[blockIdx.x] = weighed[blockIdx.x];
            new_norms[blockIdx.x] = norms[blockIdx.x];
        }
        return;
    }
    double curvature = total_of(parts, curves);
    if (!(curvature > 0)) {
        if (first) {
            new_weighed[blockIdx.x] = 0;
            new_norms[blockIdx.x] = 0;
            if (blockIdx.x == 0) state[1] = curvature;
        }
        return;
    }
    VALUE alpha = (VALUE)(total_of(parts, weighed) / curvature);
    double along = 0, norm = 0;
    FOR_EACH_OWN(i)
    {
        x[i] += alpha * p[i];
        VALUE left = r[i] - alpha * q[i];
        r[i] = left;
        along += (double)left * WEIGHTED(left, i);
        norm += (double)left * left;
    }
    along = of_block(parts, along);
    norm = of_block(parts, norm);
    if (first) {
        new_weighed[blockIdx.x] = along;
        new_norms[blockIdx.x] = norm;
    }
}

// The next direction.
__global__ void LAUNCH_BOUNDS(THREADS)
turn(GLOBAL VALUE* p, const GLOBAL VALUE* r, const GLOBAL VALUE* inverse,
     const GLOBAL double* weighed, const GLOBAL double* norms, const GLOBAL double* new_weighed,
     const GLOBAL double* new_norms, GLOBAL double* state, const GLOBAL double* goal, int64 size)
{
    __shared__ double parts[THREADS];
    if (!(total_of(parts, norms) > goal[0])) return;
    double norm = total_of(parts, new_norms);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        state[0] = norm;
        state[2] += 1;
    }
    if (!(norm > goal[0])) return;
    double along = total_of(parts, new_weighed);
    VALUE beta = (VALUE)(along / total_of(parts, weighed));
    FOR_EACH_OWN(i) p[i] = WEIGHTED(r[i], i) + beta * p[i];
}
