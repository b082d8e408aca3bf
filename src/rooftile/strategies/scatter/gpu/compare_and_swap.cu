// compare_and_swap: a thread a value, whose update is a loop of one atomic.
//
// It is for functions that the hardware has no atomic for: products, the least and the greatest of
// floats, any function of one word. What it costs: a thread that loses begins again, and of n
// threads that meet at one place all but one lose each round.
//
// x[places], index[count], values[count], y[places].
// Grid: x over values.
// Block: x over BLOCK threads.

#define FAMILY compare_and_swap
#include "swaps.h"

__global__ void compare_and_swap_update(
    const GLOBAL place_index* __restrict__ index, VALUES_PARAMETER GLOBAL number* y, int64 count,
    int64 places)
{
    int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    int64 place = index[i];
    if (place >= 0 && place < places) update_by_swaps(y + place, VALUE(i));
}
