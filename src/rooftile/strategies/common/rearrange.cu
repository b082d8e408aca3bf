// Moves weights on the device into the order that a strategy's kernels read, and converts other
// numbers, which keep their order, to float32.
//
// weights[..] and beside[more] of the type FROM (`common/source.h`), places[count], packed[count],
// converted[more]: packed[i] is the weight at places[i], zero where that is -1.
// Grid: x over packed and converted, a thread an element.

#include "common/pipelines/pdl.h"
#include "common/source.h"

__global__ void rearrange(const GLOBAL source* weights, const GLOBAL int* places,
                          GLOBAL float* packed, int count, const GLOBAL source* beside,
                          GLOBAL float* converted, int more)
{
    int64 i = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    GRIDDEPCONTROL_LAUNCH();
    GRIDDEPCONTROL_WAIT();
    if (i < count)
        packed[i] = places[i] < 0 ? 0.0f : value_of(weights[places[i]]);
    else if (i - count < more)
        converted[i - count] = value_of(beside[i - count]);
}
