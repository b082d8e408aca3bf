// The range of what all lanes of a warp have.  CUDA only.

#pragma once

#include "common/scaled.h"

__device__ __forceinline__ struct range of_warp(struct range range)
{
    struct range all = {__reduce_max_sync(~0u, range.most), __reduce_min_sync(~0u, range.before)};
    return all;
}
