// sequential: one thread, one value after the other; nobody can come between.
//
// x[places], index[count], values[count], y[places].
// Grid and block: one thread works.

#define FAMILY sequential
#include "update.h"

__global__ void sequential_update(const GLOBAL place_index* __restrict__ index,
                                  VALUES_PARAMETER GLOBAL number* y, int64 count, int64 places)
{
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    for (int64 i = 0; i < count; i++) {
        int64 place = index[i];
        if (place >= 0 && place < places) y[place] = combined(y[place], VALUE(i));
    }
}
