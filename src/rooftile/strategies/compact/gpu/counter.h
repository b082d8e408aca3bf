// A counter of places begins at none.

#pragma once

__global__ void KERNEL(clear)(GLOBAL int64* kept)
{
    if (threadIdx.x == 0) kept[0] = 0;
}
