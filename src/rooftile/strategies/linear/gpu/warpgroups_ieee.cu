// warpgroups_ieee: float32 as two numbers of float16 on Hopper's warpgroups, with an epilogue; see
// gemm/gpu/warpgroups/warpgroups_ieee.h.

#define FAMILY warpgroups_ieee
#include "gemm/gpu/warpgroups/warpgroups_ieee.h"

// Grid: a thread an element.
__global__ __launch_bounds__(PACK_THREADS) void warpgroups_ieee_split_weights(
    const float* __restrict__ weights, const struct row_scale* __restrict__ row_scales,
    element* __restrict__ numbers)
{
    size_t e = (size_t)blockIdx.x * PACK_THREADS + threadIdx.x;
    if (e >= (size_t)PADDED_OUTPUTS * PADDED_INPUTS) return;
    struct place place = place_of(e);
    bool inside = place.output < OUTPUTS && place.input < INPUTS;
    size_t given = (size_t)place.output * INPUTS + place.input;
    split_weight(inside ? weights[given] : 0.0f, row_scales[inside ? place.output : 0],
                 numbers + e / PLANE * 2 * PLANE + e % PLANE, PLANE);
}
