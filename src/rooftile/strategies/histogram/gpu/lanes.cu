// lanes: COPIES of a block's bins, a lane's own in a bank of its own; vectors of 16 bytes.
//
// In `privatised` the lanes of a warp meet at bins, and at banks where they do not. Here lane l
// adds to copy l % COPIES: with 32 copies to bank l, whatever the elements are, so that equal ones
// take no longer than random ones. A thread brings LOADS vectors before it counts the first.
// Elements in no bin go to one more, and four elements are compared with edges only where one of
// them is close to an edge, so that threads seldom branch. What it removes: waiting at bins and
// banks, most reads' latency.
//
// x[count], counts[bins].
// Grid: x over persistent blocks.
// Block: x over BLOCK threads.

#define FAMILY lanes
#include "bins.h"

#define VECTOR (16 / (int)sizeof(given))
#define ESTIMATED (RULE == 1)

__global__ void RESIDENT_BOUNDS(BLOCK, BLOCKS)
lanes(const GLOBAL given* __restrict__ x, WEIGHTS GLOBAL number* counts, int64 count,
      RULE_PARAMETERS SHARED_ARGUMENT(own, copies))
{
    SHARED_ARRAY(own, copies);
    for (int i = threadIdx.x; i < (bins + 1) * COPIES; i += BLOCK) copies[i] = 0;
    __syncthreads();

    SHARED own* mine = copies + threadIdx.x % COPIES;
    const GLOBAL uint4* vectors = (const GLOBAL uint4*)x;
    int64 whole = count / VECTOR, stride = (int64)gridDim.x * BLOCK;
    int64 first = (int64)blockIdx.x * BLOCK + threadIdx.x;
    for (int64 at = first; at < whole; at += LOADS * stride) {
        union { uint4 vector; given elements[VECTOR]; } loaded[LOADS];
        UNROLL
        for (int load = 0; load < LOADS; load++) {
            if (at + load * stride < whole) loaded[load].vector = vectors[at + load * stride];
        }
        UNROLL
        for (int load = 0; load < LOADS; load++) {
            if (at + load * stride >= whole) continue;
            UNROLL
            for (int part = 0; part < VECTOR; part += 4) {
                given* four = loaded[load].elements + part;
                int found[4];
                bool close = false;
                UNROLL
                for (int j = 0; j < 4; j++) found[j] = LIKELY_BIN(four[j], &close);
                if (close || !ESTIMATED) {
                    UNROLL
                    for (int j = 0; j < 4; j++) {
                        if (ESTIMATED) found[j] = BIN(four[j]);
                        if (found[j] < 0) found[j] = bins;
                    }
                }
                UNROLL
                for (int j = 0; j < 4; j++) {
                    int64 i = (at + load * stride) * VECTOR + part + j;
                    GROW_SHARED(mine, found[j] * COPIES, WEIGHT(i));
                }
            }
        }
    }
    // The rest after the last whole vector.
    int64 last = whole * VECTOR + first;
    if (last < count) {
        int bin = BIN(x[last]);
        if (bin >= 0) GROW_SHARED(mine, bin * COPIES, WEIGHT(last));
    }
    __syncthreads();

    for (int bin = threadIdx.x; bin < bins; bin += BLOCK) {
        own sum = 0;
        // Neighbouring threads begin at different copies, which lie in different banks.
        for (int copy = 0; copy < COPIES; copy++) {
            sum += copies[bin * COPIES + (copy + bin) % COPIES];
        }
        if (sum != 0) GROW(counts, bin, sum);
    }
}
