// warpgroups: the matrix product on Hopper's warpgroups and bulk copy engine, with an epilogue; see
// gemm/gpu/warpgroups/warpgroups.h.

#define FAMILY warpgroups
#include "gemm/gpu/warpgroups/warpgroups.h"

// Lays the weights as stages hold them, with zeros around them.  Grid: a thread an element.
__global__ __launch_bounds__(PACK_THREADS) void warpgroups_round_weights(
    const float* __restrict__ weights, element* __restrict__ rounded)
{
    size_t e = (size_t)blockIdx.x * PACK_THREADS + threadIdx.x;
    if (e >= (size_t)PADDED_OUTPUTS * PADDED_INPUTS) return;
    struct place place = place_of(e);
    bool inside = place.output < OUTPUTS && place.input < INPUTS;
    rounded[e] = ELEMENT(inside ? weights[(size_t)place.output * INPUTS + place.input] : 0.0f);
}
