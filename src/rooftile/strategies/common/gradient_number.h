// Storage of the gradients that a launch takes: in float or, with DY_NARROW, in the cores' own
// type, to which they are rounded anyway before they are multiplied.

#pragma once

#if DY_NARROW
#include "common/narrow.h"
typedef narrow gradient_number;
#define WIDE_GRADIENT(number) widened(number)
#else
typedef float gradient_number;
#define WIDE_GRADIENT(number) (number)
#endif
