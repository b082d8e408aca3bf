// sequential: one thread, one element after the other.
//
// Where an element goes depends on all before it, so that nothing seems to be left to do at once.
//
// x[count], mask[count], y[count], kept[1].
// Grid and block: one thread.

#include "items.h"

__global__ void sequential(const GLOBAL item* __restrict__ x,
                           const GLOBAL unsigned char* __restrict__ mask,
                           GLOBAL item* __restrict__ y, GLOBAL int64* __restrict__ kept,
                           int64 count)
{
    int64 place = 0;
    for (int64 i = 0; i < count; i++) {
        if (mask[i]) y[place++] = x[i];
    }
    kept[0] = place;
}
