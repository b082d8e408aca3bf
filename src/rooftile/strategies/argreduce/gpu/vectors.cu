// vectors: persistent segments, vectors of 16 bytes, places looked for at the end.
//
// In `tree`, each element costs a comparison of value and place. Here a team of TEAM threads walks
// along its segment of a row, LOADS vectors at a time, a *chunk*. Of each chunk a thread makes the
// extreme, as `reduce` does, and notes the chunk where that is better than all before. At the end
// the threads with the best value of a warp read their chunk again for the place. What it removes:
// places, of all elements but one chunk's a warp.
//
// x[rows][columns], values and places[rows][segments].
// Grid: x over segments, y over runs of ROWS rows.
// Block: x over TEAM (a power of two, the tunable GROUP) threads of a row, y over ROWS rows.

#define FAMILY vectors
#include "chunks.h"

__global__ void LAUNCH_BOUNDS(TEAM * ROWS)
vectors(const GLOBAL given* __restrict__ x, GLOBAL carried* __restrict__ values,
        GLOBAL int64* __restrict__ places, int rows, int64 columns)
{
    __shared__ carried joined[TEAM * ROWS];
    __shared__ int64 joined_places[TEAM * ROWS];
    int lane = threadIdx.x, thread = threadIdx.y * TEAM + lane;
    int64 row = (int64)blockIdx.y * ROWS + threadIdx.y;
    // Rows beyond the last repeat the last, and are not written.
    const GLOBAL given* elements = x + (row < rows ? row : rows - 1) * columns;
    const GLOBAL vector* vectors = (const GLOBAL vector*)elements;
    int64 count = columns / VECTOR, stride = (int64)gridDim.x * TEAM;
    int64 first = (int64)blockIdx.x * TEAM + lane, at = first;

    carried best = IDENTITY;
    int64 chunk = first;
    for (; at + (LOADS - 1) * stride < count; at += LOADS * stride) {
        vector loaded[LOADS];
        UNROLL
        for (int i = 0; i < LOADS; i++) loaded[i] = vectors[at + i * stride];
        carried extreme = of_vector(loaded[0]);
        UNROLL
        for (int i = 1; i < LOADS; i++) extreme = combined(extreme, of_vector(loaded[i]));
        if (better(extreme, best)) {
            best = extreme;
            chunk = at;
        }
    }
    // The rest is a chunk that is not full.
    carried extreme = IDENTITY;
    for (int i = 0; i < LOADS - 1; i++)
        if (at + i * stride < count)
            extreme = combined(extreme, of_vector(vectors[at + i * stride]));
    if (better(extreme, best)) {
        best = extreme;
        chunk = at;
    }
    struct found own = {best, NOWHERE};
    if (same(best, best_nearby(joined, thread, best)))
        own.place = place_in(vectors, chunk, stride, count, best);
    own = with_rest(own, elements, columns, lane, TEAM);
    own = tree_of(joined, joined_places, thread, TEAM, own);
    if (lane == 0 && row < rows) keep(values, places, row * gridDim.x + blockIdx.x, own);
}
