// hardware: a thread a value, whose update is one atomic.
//
// In `compare_and_swap` a thread reads, computes and asks whether it may store.  Here the cache does
// all of it, and threads that meet queue up there, each once.  What it removes: the way to the thread
// and back, and lost rounds.
//
// CUDA subtracts 64-bit integers and floats by adding the negative, and counts those up and down by
// adding one.  OpenCL has atomics of integers alone, and exchanges floats; there sums of floats are
// the loop of `compare_and_swap`.
//
// x[places], index[count], values[count], y[places].
// Grid: x over values.
// Block: x over BLOCK threads.

#define FAMILY hardware
#include "swaps.h"

#define WHOLE (KIND < 2)
#define WIDE (KIND == 1 || KIND == 3)

#ifdef __OPENCL_VERSION__

#if WIDE
#define ATOMIC(name) atom_##name
#else
#define ATOMIC(name) atomic_##name
#endif
#define WORD(address) ((volatile __global number*)(address))
#if !WHOLE && FUNCTION != 6
#define UPDATE(address, value) update_by_swaps(address, value)
#elif FUNCTION == 0
#define UPDATE(address, value) ATOMIC(add)(WORD(address), value)
#elif FUNCTION == 1
#define UPDATE(address, value) ATOMIC(sub)(WORD(address), value)
#elif FUNCTION == 2
#define UPDATE(address, value) ATOMIC(inc)(WORD(address))
#elif FUNCTION == 3
#define UPDATE(address, value) ATOMIC(dec)(WORD(address))
#elif FUNCTION == 4
#define UPDATE(address, value) ATOMIC(min)(WORD(address), value)
#elif FUNCTION == 5
#define UPDATE(address, value) ATOMIC(max)(WORD(address), value)
#else
#define UPDATE(address, value) ATOMIC(xchg)((volatile __global bits*)(address), BITS(value))
#endif

#else

// Sums of 64-bit integers are the same with a sign and without.
#if KIND == 1
#define ADD(address, value) atomicAdd((bits*)(address), (bits)(value))
#else
#define ADD(address, value) atomicAdd(address, value)
#endif
#if FUNCTION == 0
#define UPDATE(address, value) ADD(address, value)
#elif FUNCTION == 1
#define UPDATE(address, value) ADD(address, -(value))
#elif FUNCTION == 2 && KIND == 0
#define UPDATE(address, value) atomicInc((bits*)(address), 0xffffffffu)
#elif FUNCTION == 2
#define UPDATE(address, value) ADD(address, 1)
#elif FUNCTION == 3 && KIND == 0
#define UPDATE(address, value) atomicDec((bits*)(address), 0xffffffffu)
#elif FUNCTION == 3
#define UPDATE(address, value) ADD(address, -1)
#elif FUNCTION == 4
#define UPDATE(address, value) atomicMin(address, value)
#elif FUNCTION == 5
#define UPDATE(address, value) atomicMax(address, value)
#else
#define UPDATE(address, value) atomicExch((bits*)(address), BITS(value))
#endif

#endif

__global__ void hardware_update(const GLOBAL place_index* __restrict__ index,
                                VALUES_PARAMETER GLOBAL number* y, int64 count, int64 places)
{
    int64 i = (int64)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    int64 place = index[i];
    if (place >= 0 && place < places) UPDATE(y + place, VALUE(i));
}
