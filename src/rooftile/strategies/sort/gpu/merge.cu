// merge: runs are merged to runs of twice the length; every element finds its own place.
//
// A thread's element comes after the earlier ones of its own run, and after the ones of the other
// run that go first: a binary search counts them. Of equal elements the left run's go first. What
// it removes: the log2(count) passes for each doubling, of bitonic. What it costs: log2 of the
// run's length dependent reads for every element in each of log2(count) passes.
//
// x[outer][count][inner]; keys[lines][count] and along[lines][count] between two launches; results
// as x.
// Grid: x over blocks of all lines.
// Block: x over BLOCK elements.

#include "keys.h"

// Number of keys of the run from `begin` on, `length` of them, that go before `own`: lesser ones,
// and with `equal` equal ones.
__device__ __forceinline__ int64 before(const GLOBAL key* from, int first, key own, int equal,
                                        int64 line, int64 begin, int64 length, int64 count,
                                        int64 inner)
{
    int64 low = 0, high = length;
    while (low < high) {
        int64 middle = (low + high) / 2;
        key other = key_at(from, first, line, begin + middle, count, inner);
        if (other < own || (equal && other == own)) low = middle + 1;
        else high = middle;
    }
    return low;
}

__global__ void LAUNCH_BOUNDS(BLOCK)
merge(const GLOBAL key* keys, const GLOBAL unsigned* along, GLOBAL key* to, GLOBAL unsigned* to_along,
      int first, int last, int64 count, int64 inner, int64 run)
{
    int64 blocks = (count + BLOCK - 1) / BLOCK, line = blockIdx.x / blocks;
    int64 e = blockIdx.x % blocks * BLOCK + threadIdx.x;
    if (e >= count) return;
    key own = key_at(keys, first, line, e, count, inner);
    int64 mine = e / run * run, both = mine / (2 * run) * (2 * run);
    int right = mine != both;
    int64 other = right ? both : both + run;
    int64 length = other >= count ? 0 : other + run < count ? run : count - other;
    int64 to_place = both + (e - mine) +
                     before(keys, first, own, right, line, other, length, count, inner);
    put(to, to_along, own, along_at(along, first, line, e, count, inner), last, line, to_place,
        count, inner);
}
