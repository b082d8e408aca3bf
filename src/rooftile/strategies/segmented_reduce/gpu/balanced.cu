// balanced: every block and every thread takes as many items, elements and ends of segments.
//
// In `teams`, work follows the segments.  Here a block takes ITEMS items of the merged sequence
// (`merge.h`), and each of its threads PER of them: it combines elements, and at each end it has a
// result.  Only the first result of a thread lacks what threads before it have of that segment, and
// only the first one of a block what blocks before it have; two small kernels bring that.  What it
// removes: idle threads, whatever the lengths are.
//
// Elements and ends lie in shared memory, elements from the front and ends from the back; an end's
// place takes its result.  PER is odd, so that threads read different banks.
//
// x[count], offsets[segments + 1], results[segments]; tile_ends[tiles + 1] are ends before each tile,
// heads[tiles] first results without what comes from before, tails[tiles] what follows the last end,
// carries[tiles] what comes from tiles of the same span, and opens whether all of these count.
// Grid: x over tiles, or over spans of THREADS tiles.
// Block: x over THREADS threads.

#define FAMILY balanced
#include "tiles.h"

__global__ void LAUNCH_BOUNDS(THREADS)
balanced_reduce_tiles(
    const GLOBAL given* __restrict__ x, const GLOBAL OFFSET* __restrict__ offsets,
    GLOBAL result* __restrict__ results, const GLOBAL int64* __restrict__ tile_ends,
    GLOBAL carried* __restrict__ heads, GLOBAL carried* __restrict__ tails, int64 segments,
    int64 count)
{
    __shared__ union slot slots[ITEMS];
    __shared__ struct run runs[THREADS];
    __shared__ int firsts[THREADS + 1];
    int thread = threadIdx.x;
    int64 items = (int64)blockIdx.x * ITEMS, all = count + segments;
    int64 segment = tile_ends[blockIdx.x], element = items - segment;
    int ends = (int)(tile_ends[blockIdx.x + 1] - segment);
    int elements = (int)(all - items < ITEMS ? all - items : ITEMS) - ends;

    given loaded[PER];
    UNROLL
    for (int i = 0; i < PER; i++)
        if (i * THREADS + thread < elements) loaded[i] = x[element + i * THREADS + thread];
    for (int k = thread; k < ends; k += THREADS) {
        // Offsets that do not rise must not lead out of the tile.
        int64 end = offsets[segment + k + 1] - element;
        END(k) = end < 0 ? 0 : end < elements ? (int)end : elements;
    }
    UNROLL
    for (int i = 0; i < PER; i++)
        if (i * THREADS + thread < elements)
            slots[i * THREADS + thread].value = taken(loaded[i]);
    __syncthreads();

    int first = thread * PER < elements + ends ? thread * PER : elements + ends;
    int k = ends_in_tile(slots, elements, ends, first);
    firsts[thread] = k;
    if (thread == 0) firsts[THREADS] = ends;
    __syncthreads();
    int e = first - k, begin = k, last = firsts[thread + 1];
    int stop = (first + PER < elements + ends ? first + PER : elements + ends) - last;
    struct run own = {IDENTITY, last > k};
    carried head = IDENTITY;
    for (; k < last; k++) {
        for (int end = END(k); e < end; e++) own.total = combined(own.total, slots[e].value);
        if (k == begin)
            head = own.total;
        else
            MADE(k) = own.total;
        own.total = IDENTITY;
    }
    for (; e < stop; e++) own.total = combined(own.total, slots[e].value);

    scan(runs, &own, THREADS);
    if (last > begin) MADE(begin) = combined(own.total, head);
    if (thread == THREADS - 1) tails[blockIdx.x] = runs[thread].total;
    __syncthreads();
    if (thread == 0 && ends > 0) heads[blockIdx.x] = MADE(0);
    // The part of the first segment in earlier tiles is added later.
    for (int j = thread + 1; j < ends; j += THREADS) results[segment + j] = stored(MADE(j));
}
