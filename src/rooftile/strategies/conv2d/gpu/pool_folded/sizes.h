// Sizes of the weights that fold the pool.

#pragma once

#include "conv2d/gpu/conv2d.h"

#define MAP_GROUPS ((MAPS + 3) / 4)
// A slab is two rows of a channel's patch.
#define PATCH_SLABS ((MASK_HEIGHT + 2) / 2)
#define SLABS (CHANNELS * PATCH_SLABS)
