// flagged: pairs of a value and a flag, which are scanned like single values.
//
// A flag stands at each element at which a segment begins.  (f, a) and (g, b) combine to (f or g, g
// ? b : a op b), which is associative, so that any scan will do: here sums_first's, by stretches of
// sections of runs.  What it removes: the dependence on how long segments are.
//
// x[count], offsets[segments + 1], y[count], flags[count], sums[stretches], cuts[stretches].
// Grid: x over stretches.
// Block: x over BLOCK (a power of two) threads, for a section of BLOCK RUN elements.

#include "scan/gpu/scan.h"

#define SECTION (BLOCK * RUN)
#define SLOT(e) ((e) + (e) / RUN)
#define SLOTS (BLOCK * (RUN + 1))
typedef OFFSET offset;
typedef unsigned char flag;

__global__ void flagged_clear(GLOBAL unsigned* flags, int64 words)
{
    int64 at = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (at < words) flags[at] = 0;
}

__global__ void flagged_set_flags(const GLOBAL offset* offsets, GLOBAL flag* flags, int64 segments,
                                  int64 count)
{
    int64 segment = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (segment >= segments) return;
    int64 at = offsets[segment];
    if (at >= 0 && at < count) flags[at] = 1;
}

// Scans a section of a stretch that ends at `last`: `held` its elements, `begins` their flags.  A
// flag of `cuts` says whether a segment begins in this thread's run or before it.
__device__ __forceinline__ void scan_section(const GLOBAL given* x, const GLOBAL flag* flags,
                                             int64 first, int64 last, carried before,
                                             SHARED carried* held, SHARED flag* begins,
                                             SHARED carried* ends, SHARED flag* cuts)
{
    int thread = threadIdx.x;
    for (int e = thread; e < SECTION; e += BLOCK) {
        bool there = first + e < last;
        held[SLOT(e)] = there ? taken(x[first + e]) : IDENTITY;
        begins[SLOT(e)] = there ? flags[first + e] : 0;
    }
    __syncthreads();
    SHARED carried* run = held + SLOT(thread * RUN);
    SHARED flag* cut = begins + SLOT(thread * RUN);
    carried sum = run[0];
    flag seen = cut[0];
    for (int e = 1; e < RUN; e++) {
        run[e] = sum = cut[e] ? run[e] : combined(sum, run[e]);
        seen |= cut[e];
    }
    ends[thread] = sum, cuts[thread] = seen;
    for (int reach = 1; reach < BLOCK; reach *= 2) {
        __syncthreads();
        carried other = thread >= reach ? ends[thread - reach] : IDENTITY;
        flag earlier = thread >= reach ? cuts[thread - reach] : 0;
        __syncthreads();
        if (thread >= reach && !cuts[thread]) ends[thread] = combined(other, ends[thread]);
        cuts[thread] |= earlier;
    }
    __syncthreads();
    carried prefix = before;
    if (thread) prefix = cuts[thread - 1] ? ends[thread - 1] : combined(before, ends[thread - 1]);
    for (int e = 0; e < RUN && !cut[e]; e++) run[e] = combined(prefix, run[e]);
    __syncthreads();
}

// The next section's prefix.
__device__ __forceinline__ struct carry behind(struct carry before, carried end, flag cut)
{
    return joined(cut ? nothing() : before, end);
}

__global__ void LAUNCH_BOUNDS(BLOCK)
flagged_sum_stretches(
    const GLOBAL given* __restrict__ x, const GLOBAL flag* __restrict__ flags,
    GLOBAL carried* __restrict__ sums, GLOBAL flag* __restrict__ cut, int64 stretch, int64 count)
{
    __shared__ carried held[SLOTS], ends[BLOCK];
    __shared__ flag begins[SLOTS], cuts[BLOCK];
    int64 first = blockIdx.x * stretch, last = first + stretch < count ? first + stretch : count;
    struct carry before = nothing();
    flag seen = 0;
    for (; first < last; first += SECTION) {
        scan_section(x, flags, first, last, IDENTITY, held, begins, ends, cuts);
        before = behind(before, ends[BLOCK - 1], cuts[BLOCK - 1]);
        seen |= cuts[BLOCK - 1];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = value_of(before), cut[blockIdx.x] = seen;
}

// One thread: there are few stretches.
__global__ void flagged_scan_sums(GLOBAL carried* sums, const GLOBAL flag* cut, int64 stretches)
{
    struct carry before = nothing();
    for (int64 s = 0; s < stretches; s++) {
        before = behind(before, sums[s], cut[s]);
        sums[s] = value_of(before);
    }
}

__global__ void LAUNCH_BOUNDS(BLOCK)
flagged_scan_stretches(const GLOBAL given* __restrict__ x, const GLOBAL flag* __restrict__ flags,
                       GLOBAL result* __restrict__ y, const GLOBAL carried* __restrict__ sums,
                       int64 stretch, int64 count)
{
    __shared__ carried held[SLOTS], ends[BLOCK];
    __shared__ flag begins[SLOTS], cuts[BLOCK];
    int64 first = blockIdx.x * stretch, last = first + stretch < count ? first + stretch : count;
    struct carry before = nothing();
    if (blockIdx.x) before.high = sums[blockIdx.x - 1];
    for (; first < last; first += SECTION) {
        carried prefix = value_of(before);
        scan_section(x, flags, first, last, prefix, held, begins, ends, cuts);
        for (int e = threadIdx.x; e < SECTION && first + e < last; e += BLOCK) {
            carried own = held[SLOT(e)];
            if (EXCLUSIVE) own = begins[SLOT(e)] ? IDENTITY : e ? held[SLOT(e - 1)] : prefix;
            y[first + e] = stored(own);
        }
        before = behind(before, ends[BLOCK - 1], cuts[BLOCK - 1]);
        __syncthreads();
    }
}
