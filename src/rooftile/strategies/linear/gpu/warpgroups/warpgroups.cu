// warpgroups: the matrix product on Hopper's warpgroups and bulk copy engine; warpgroups.h says how.

#define FAMILY warpgroups
#include "linear/gpu/warpgroups/warpgroups.h"
