// warpgroups_ieee: float32 as two numbers of float16 on Hopper's warpgroups; warpgroups_ieee.h says how.

#define FAMILY warpgroups_ieee
#include "linear/gpu/warpgroups/warpgroups_ieee.h"
