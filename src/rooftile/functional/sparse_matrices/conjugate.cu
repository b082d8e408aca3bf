// The steps of conjugate gradients.
//
// A step turns (the next direction p), multiplies (q = A p), and lowers (the residual r). x moves
// along a direction when the next one is made, which reads the old one anyway; `settle` makes up
// for the last. For a matrix in DIA one kernel, `turn_and_multiply`, does the work of three: it
// makes the directions that it multiplies from the old ones, so that p is written and not read.
//
// Each block leaves its elements' sum in `sums[BLOCKS]`; a kernel that needs the total adds them up
// in their order, in each block anew. So no kernel waits for the host or for a last block, and
// every run gives the same bits. A step reads one set of scalars and writes another, and the sets
// are swapped from step to step, as the old and the new direction are.
//
// When the residual's norm has come to the goal, or the curvature says that the matrix is not
// positive definite, further steps change nothing: a graph may hold more of them than there are.
//
// x, r, p, old (p before), q, b, inverse[size] of VALUE; values[DIAGONALS][size],
// diagonals[DIAGONALS]; state[3] of double: the square of the residual's norm, the curvature of a step
// that failed (else 1), and the number of steps.  goal[1]: the square to reach.
// Grid: x over BLOCKS blocks, RESIDENT of which a multiprocessor holds at a time.
// Block: x over THREADS (a power of two) threads.

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

struct sums {
    double weighed;   // of the residual's elements times what they are weighed to
    double norm;      // of the residual's squares
    double curvature; // p^T A p
};

// A step's coefficients: x moves `far` along the last direction, and the next direction keeps
// `kept` of it.
struct course {
    bool going;
    VALUE far, kept;
};

// The sum of all threads' numbers, in each thread.
__device__ __forceinline__ struct sums of_block(SHARED struct sums* parts, struct sums own)
{
    int thread = threadIdx.x;
    __syncthreads();
    parts[thread] = own;
    for (int reach = THREADS / 2; reach > 0; reach /= 2) {
        __syncthreads();
        if (thread < reach) {
            parts[thread].weighed += parts[thread + reach].weighed;
            parts[thread].norm += parts[thread + reach].norm;
            parts[thread].curvature += parts[thread + reach].curvature;
        }
    }
    __syncthreads();
    return parts[0];
}

// The total of the blocks' sums.
__device__ __forceinline__ struct sums total_of(SHARED struct sums* parts,
                                                const GLOBAL struct sums* sums)
{
    struct sums own = {0, 0, 0};
    for (int i = threadIdx.x; i < BLOCKS; i += THREADS) {
        own.weighed += sums[i].weighed;
        own.norm += sums[i].norm;
        own.curvature += sums[i].curvature;
    }
    return of_block(parts, own);
}

__device__ __forceinline__ struct course course_of(SHARED struct sums* parts,
                                                   const GLOBAL struct sums* before,
                                                   const GLOBAL struct sums* now,
                                                   const GLOBAL double* goal)
{
    struct sums last = total_of(parts, before), present = total_of(parts, now);
    struct course found;
    found.going = present.norm > goal[0];
    found.far = (VALUE)(last.weighed / last.curvature);
    found.kept = (VALUE)(present.weighed / last.weighed);
    return found;
}

// The residual of a start; the direction before the first one is nothing, and x moves 1 / INFINITY
// along it.
__global__ void LAUNCH_BOUNDS(THREADS)
begin(const GLOBAL VALUE* b, const GLOBAL VALUE* q, const GLOBAL VALUE* inverse, GLOBAL VALUE* r,
      GLOBAL VALUE* old, GLOBAL struct sums* before, GLOBAL struct sums* now, int64 size)
{
    __shared__ struct sums parts[THREADS];
    struct sums own = {0, 0, 0};
    FOR_EACH_OWN(i)
    {
        VALUE left = b[i] - q[i];
        r[i] = left;
        old[i] = 0;
        own.weighed += (double)left * WEIGHTED(left, i);
        own.norm += (double)left * left;
    }
    own = of_block(parts, own);
    if (threadIdx.x > 0) return;
    struct sums first = {blockIdx.x == 0, 0, INFINITY};
    before[blockIdx.x] = first;
    now[blockIdx.x] = own;
}

// The next direction, and x along the last one.
__global__ void LAUNCH_BOUNDS(THREADS)
turn(GLOBAL VALUE* x, const GLOBAL VALUE* r, const GLOBAL VALUE* old, GLOBAL VALUE* p,
     const GLOBAL VALUE* inverse, const GLOBAL struct sums* before, const GLOBAL struct sums* now,
     const GLOBAL double* goal, int64 size)
{
    __shared__ struct sums parts[THREADS];
    struct course course = course_of(parts, before, now, goal);
    if (course.far != 0) FOR_EACH_OWN(i) x[i] += course.far * old[i];
    if (course.going) FOR_EACH_OWN(i) p[i] = WEIGHTED(r[i], i) + course.kept * old[i];
}

// p^T q, with q = A p.
__global__ void LAUNCH_BOUNDS(THREADS)
curve(const GLOBAL VALUE* p, const GLOBAL VALUE* q, GLOBAL struct sums* now,
      const GLOBAL double* goal, int64 size)
{
    __shared__ struct sums parts[THREADS];
    struct sums own = {0, 0, 0};
    bool going = total_of(parts, now).norm > goal[0];
    if (going) FOR_EACH_OWN(i) own.curvature += (double)p[i] * q[i];
    own = of_block(parts, own);
    if (threadIdx.x == 0) now[blockIdx.x].curvature = going ? own.curvature : INFINITY;
}

#if DIAGONALS
// All of these of a matrix in DIA.
__global__ void RESIDENT_BOUNDS(THREADS, RESIDENT)
turn_and_multiply(const GLOBAL VALUE* __restrict__ values, const GLOBAL INDEX* __restrict__ diagonals,
                  GLOBAL VALUE* __restrict__ x, const GLOBAL VALUE* __restrict__ r,
                  const GLOBAL VALUE* __restrict__ old, GLOBAL VALUE* __restrict__ p,
                  GLOBAL VALUE* __restrict__ q, const GLOBAL VALUE* __restrict__ inverse,
                  const GLOBAL struct sums* before, GLOBAL struct sums* now,
                  const GLOBAL double* goal, int64 size)
{
    __shared__ struct sums parts[THREADS];
    struct course course = course_of(parts, before, now, goal);
    struct sums own = {0, 0, 0};
    INDEX diagonal[DIAGONALS];
    UNROLL
    for (int d = 0; d < DIAGONALS; d++) diagonal[d] = diagonals[d];
    if (!course.going && course.far != 0) FOR_EACH_OWN(i) x[i] += course.far * old[i];
    if (course.going) FOR_EACH_OWN(i)
    {
        VALUE value[DIAGONALS], along[DIAGONALS];
        UNROLL
        for (int d = 0; d < DIAGONALS; d++) {
            int64 j = i + diagonal[d];
            bool inside = j >= 0 && j < size;
            value[d] = inside ? values[d * size + i] : 0;
            along[d] = inside ? WEIGHTED(r[j], j) + course.kept * old[j] : 0;
        }
        VALUE last = old[i], next = WEIGHTED(r[i], i) + course.kept * last, total = 0;
        UNROLL
        for (int d = 0; d < DIAGONALS; d++) total += value[d] * along[d];
        x[i] += course.far * last;
        p[i] = next;
        q[i] = total;
        own.curvature += (double)next * total;
    }
    own = of_block(parts, own);
    if (threadIdx.x == 0) now[blockIdx.x].curvature = course.going ? own.curvature : INFINITY;
}
#endif

// The residual after a step, from the end: caches still hold what the product has written last.
__global__ void LAUNCH_BOUNDS(THREADS)
lower(GLOBAL VALUE* __restrict__ r, const GLOBAL VALUE* __restrict__ q,
      const GLOBAL VALUE* __restrict__ inverse, const GLOBAL struct sums* now,
      GLOBAL struct sums* after, GLOBAL double* state, const GLOBAL double* goal, int64 size)
{
    __shared__ struct sums parts[THREADS];
    struct sums present = total_of(parts, now), own = {0, 0, 0};
    bool first = threadIdx.x == 0;
    if (!(present.norm > goal[0])) {
        if (first) after[blockIdx.x] = now[blockIdx.x];
        return;
    }
    if (!(present.curvature > 0)) {
        if (first) after[blockIdx.x] = own;
        if (first && blockIdx.x == 0) state[1] = present.curvature;
        return;
    }
    VALUE far = (VALUE)(present.weighed / present.curvature);
    FOR_EACH_OWN(from_end)
    {
        int64 i = size - 1 - from_end;
        VALUE left = r[i] - far * q[i];
        r[i] = left;
        own.weighed += (double)left * WEIGHTED(left, i);
        own.norm += (double)left * left;
    }
    own = of_block(parts, own);
    if (first) after[blockIdx.x] = own;
    if (first && blockIdx.x == 0) state[2] += 1;
}

// The scalars for the host. Grid: one block.
__global__ void tell(const GLOBAL struct sums* now, GLOBAL double* state)
{
    __shared__ struct sums parts[THREADS];
    double norm = total_of(parts, now).norm;
    if (threadIdx.x == 0) state[0] = norm;
}

// x along the last direction, if no step has moved it there.
__global__ void LAUNCH_BOUNDS(THREADS)
settle(GLOBAL VALUE* x, const GLOBAL VALUE* old, const GLOBAL struct sums* before, int64 size)
{
    __shared__ struct sums parts[THREADS];
    struct sums last = total_of(parts, before);
    VALUE far = (VALUE)(last.weighed / last.curvature);
    if (far != 0) FOR_EACH_OWN(i) x[i] += far * old[i];
}
