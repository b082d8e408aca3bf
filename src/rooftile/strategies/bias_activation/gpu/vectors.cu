// vectors: one thread makes four neighbouring elements.  y may be x.
//
// What it removes: three accesses in four, of those that `naive` asks for.
//
// x[rows][COLUMNS], with BIASED bias[COLUMNS], y[rows][COLUMNS].
// Grid: x over quads; the last one's elements are made one by one.

#include "biased.h"

__global__ void vectors(const GLOBAL float* x, BIAS_ARGUMENT GLOBAL float* y, int count)
{
    GRIDDEPCONTROL_WAIT();
    int first = 4 * (blockIdx.x * BLOCK + threadIdx.x);
    if (first + 4 <= count) {
        float4 value = *(const GLOBAL float4*)(x + first);
        *(GLOBAL float4*)(y + first) =
            make_float4(VALUE(first, value.x), VALUE(first + 1, value.y), VALUE(first + 2, value.z),
                        VALUE(first + 3, value.w));
        return;
    }
    for (int i = first; i < count; i++) y[i] = VALUE(i, x[i]);
}
